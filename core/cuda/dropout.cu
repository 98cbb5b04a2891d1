// y = residual + x * keep, with keep the dropout factors. Backward generates the mask again, so nothing is saved.
#include "gyre/core/cuda/cuda_kernels.h"
#include "gyre/core/cuda/map.h"

namespace gyre::cuda {
namespace {

// residual may be null.
template <class T>
__global__ void dropout_kernel(T* y, const T* x, const T* residual, int64_t n, bool aligned, Dropout mask) {
  using C = Compute<T>;
  const int64_t first = first_of_thread<T>();
  const int count = count_in_pack<T>(first, n);
  if (count == 0) return;
  const Pack<T> in = load_pack(x + first, count, aligned);
  C keep[kPackSize<T>];
  if (residual) {
    const Pack<T> base = load_pack(residual + first, count, aligned);
    pack_factors(keep, mask, uint64_t(first));
#pragma unroll
    for (int i = 0; i < kPackSize<T>; ++i) keep[i] = base[i] + in[i] * keep[i];
  } else {
    pack_factors(keep, mask, uint64_t(first));
#pragma unroll
    for (int i = 0; i < kPackSize<T>; ++i) keep[i] *= in[i];
  }
  store_pack(y + first, keep, count, aligned);
}

}  // namespace

Dropout dropout_of(const DropoutMask& mask) {
  const double kept = 1 / (1 - mask.rate);
  return {mask.seed, mask.stream, dropout_threshold(mask.rate), float(kept), kept};
}

void CudaKernels::dropout(const Tensor& y, const Tensor& x, const Tensor& residual, const DropoutMask& mask) {
  dispatch_data_type(x, [&]<class T>(T) {
    launch(dropout_kernel<T>, dim3(map_blocks<T>(x.size())), dim3(kMapThreads), 0, context_.stream(), y.data<T>(),
           x.data<T>(), data_or_null<T>(residual), x.size(), all_aligned(y, x, residual), dropout_of(mask));
  });
}

}  // namespace gyre::cuda
