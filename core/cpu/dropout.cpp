// y = residual + x * keep / (1 - rate). The mask is drawn again in backward: nothing is saved.
#include "core/cpu/cpu_kernels.h"
#include "core/cpu/parallel.h"
#include "core/cpu/philox_block.h"

namespace gyre::GYRE_CPU_NAMESPACE {

void CpuKernels::dropout(const Tensor& y, const Tensor& x, const Tensor& residual, const DropoutMask& mask) {
  with_data_type(x, [&]<class T>(T) {
    using C = Compute<T>;
    T* out = y.data<T>();
    const T *in = x.data<T>(), *base = data_or_null<T>(residual);
    const int64_t n = x.size(), blocks = (n + kPhiloxWords - 1) / kPhiloxWords;
    const C factor = C(1 / (1 - mask.rate));
    const uint32_t threshold = dropout_threshold(mask.rate);
    parallel_ranges(blocks, 4 * kPhiloxWords, [=](int64_t begin, int64_t end) {
      uint32_t words[kPhiloxWords];
      for (int64_t b = begin; b < end; ++b) {
        philox_block(words, mask.seed, mask.stream, uint64_t(b) * kPhiloxLanes);
        const int64_t first = b * kPhiloxWords, count = std::min<int64_t>(kPhiloxWords, n - first);
        C keep[kPhiloxWords];  // a factor instead of a branch: half of all branches would be guessed wrong
#pragma omp simd
        for (int64_t i = 0; i < kPhiloxWords; ++i) keep[i] = C(int(words[i] >= threshold)) * factor;
        if (base) {
#pragma omp simd
          for (int64_t i = 0; i < count; ++i) out[first + i] = base[first + i] + in[first + i] * keep[i];
        } else {
#pragma omp simd
          for (int64_t i = 0; i < count; ++i) out[first + i] = in[first + i] * keep[i];
        }
      }
    });
  });
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
