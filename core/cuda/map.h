// Elementwise kernels: out[i] = f(in[i]..).
#pragma once

#include "gyre/core/cuda/dispatch.h"
#include "gyre/core/cuda/runtime/context.h"
#include "gyre/core/cuda/runtime/launch.h"
#include "gyre/core/cuda/vectors.h"

namespace gyre::cuda {

constexpr int kMapThreads = 256;

// The number of blocks for n elements of type T. Each thread processes kPackSize<T> consecutive elements.
template <class T>
unsigned map_blocks(int64_t n) {
  return unsigned(divide_up(n, int64_t{kMapThreads} * kPackSize<T>));
}
template <class T>
__device__ inline int64_t first_of_thread() {
  return (int64_t(blockIdx.x) * kMapThreads + threadIdx.x) * kPackSize<T>;
}

template <class T, class F, class... In>
__device__ inline void map_packs(T* out, int count, bool aligned, const F& f, const In&... in) {
  Compute<T> numbers[kPackSize<T>];
#pragma unroll
  for (int i = 0; i < kPackSize<T>; ++i) numbers[i] = f(in[i]...);
  store_pack(out, numbers, count, aligned);
}

template <class T, class F, class... In>
__global__ void map_kernel(T* out, int64_t n, bool aligned, F f, const In*... in) {
  const int64_t first = first_of_thread<T>();
  const int count = count_in_pack<T>(first, n);
  if (count > 0) map_packs(out + first, count, aligned, f, load_pack(in + first, count, aligned)...);
}

// Runs out[i] = f(in[i]..). All tensors have the same size and the type T; `out` may be one of the inputs.
template <class T, class F, class... In>
void map(const Context& context, const Tensor& out, const F& f, const In&... in) {
  launch(map_kernel<T, F, std::enable_if_t<std::is_same_v<In, Tensor>, T>...>, dim3(map_blocks<T>(out.size())),
         dim3(kMapThreads), 0, context.stream(), out.data<T>(), out.size(), all_aligned(out, in...), f,
         in.template data<T>()...);
}

// out = x in the dtype of out (core/cuda/elementary.cu)
void convert(const Context& context, const Tensor& out, const Tensor& x);

}  // namespace gyre::cuda
