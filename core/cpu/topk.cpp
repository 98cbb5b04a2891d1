// The k largest values of each row.
#include "gyre/core/cpu/cpu_kernels.h"
#include "gyre/core/cpu/largest_columns.h"
#include "gyre/core/cpu/parallel.h"

namespace gyre::GYRE_CPU_NAMESPACE {

void CpuKernels::topk(const Tensor& values, const Tensor& columns, const Tensor& x, int64_t also) {
  const int64_t v = x.cols(), k = columns.cols();
  const float* in = x.data<float>();
  parallel_ranges(x.rows(), v, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      float* row = values.data<float>() + i * (k + 1);
      const LargestColumns largest{row, columns.data<int32_t>() + i * k, k};
      largest.clear();
      if (k > 0) largest.insert_all(in + i * v, v, 0);
      row[k] = in[i * v + also];
    }
  });
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
