// y = residual + x * keep, with keep the dropout factors. Backward generates the mask again, so nothing is saved.
#include "gyre/core/cpu/cpu_kernels.h"
#include "gyre/core/cpu/dropout_factors.h"
#include "gyre/core/cpu/parallel.h"

namespace gyre::GYRE_CPU_NAMESPACE {

void CpuKernels::dropout(const Tensor& y, const Tensor& x, const Tensor& residual, const DropoutMask& mask) {
  dispatch_data_type(x, [&]<class T>(T) {
    T* out = y.data<T>();
    const T *in = x.data<T>(), *base = data_or_null<T>(residual);
    parallel_ranges(x.size(), 4, [=](int64_t first, int64_t last) {
      for_ranges_of_mask<Compute<T>>(last - first, first, mask, [=](int64_t begin, int64_t end, auto keep) {
        T* to = out + first;
        const T *from = in + first, *to_add = base ? base + first : nullptr;
        if (base) {
#pragma omp simd
          for (int64_t i = begin; i < end; ++i) to[i] = to_add[i] + from[i] * keep(i);
        } else {
#pragma omp simd
          for (int64_t i = begin; i < end; ++i) to[i] = from[i] * keep(i);
        }
      });
    });
  });
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
