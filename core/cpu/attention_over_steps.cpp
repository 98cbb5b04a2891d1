// Attention while decoding: one query of each hypothesis over the tokens that it has, wherever the steps left them.
#include <vector>

#include "core/cpu/attention_in_place.h"
#include "core/cpu/cpu_kernels.h"
#include "core/cpu/parallel.h"

namespace gyre::GYRE_CPU_NAMESPACE {

void CpuKernels::attention_over_steps(const Tensor& out, const std::vector<Tensor>& steps, const Tensor& path,
                                      const AttentionShape& shape) {
  with_data_type(out, [&]<class D>(D) {
    using T = Compute<D>;
    const int64_t d = out.cols(), width = d / shape.heads, length = int64_t(steps.size());
    const D* queries = steps.back().data<D>();
    parallel_ranges(out.rows() * shape.heads, 2 * length * width, [&](int64_t begin, int64_t end) {
      static thread_local std::vector<const D*> tokens;
      static thread_local std::vector<T> features, scores;
      tokens.resize(size_t(length));
      features.resize(size_t(width));
      scores.resize(size_t(round_up(length, kLanes<T>)));
      for (int64_t job = begin; job < end; ++job) {
        const int64_t row = job / shape.heads, feature = job % shape.heads * width;
        if (job == begin || feature == 0) {
          const int32_t* row_of_step = path.data<int32_t>() + row * length;
          for (size_t t = 0; t < steps.size(); ++t) tokens[t] = steps[t].data<D>() + row_of_step[t] * 3 * d;
        }
        attend_in_place<D>(
            out.data<D>() + row * d + feature, queries + row * 3 * d + feature, width, length, T(shape.scale),
            [&](int64_t t) { return tokens[size_t(t)] + d + feature; },
            [&](int64_t t) { return tokens[size_t(t)] + 2 * d + feature; }, {features.data(), scores.data()});
      }
    });
  });
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
