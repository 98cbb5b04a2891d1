// out[i] = f(in[i]..), element by element.
#pragma once

#include "core/cuda/context.h"
#include "core/cuda/dispatch.h"
#include "core/cuda/launch.h"
#include "core/cuda/vectors.h"

namespace gyre::cuda {

constexpr int kMapThreads = 256;

// Blocks of kMapThreads in which each thread takes its neighbours of n elements of type T.
template <class T>
unsigned map_blocks(int64_t n) {
  return unsigned(divide_up(n, int64_t{kMapThreads} * kNeighbours<T>));
}
template <class T>
__device__ inline int64_t first_of_thread() {
  return (int64_t(blockIdx.x) * kMapThreads + threadIdx.x) * kNeighbours<T>;
}

template <class T, class F, class... In>
__device__ inline void map_neighbours(T* out, int count, bool aligned, const F& f, const In&... in) {
  Compute<T> numbers[kNeighbours<T>];
#pragma unroll
  for (int i = 0; i < kNeighbours<T>; ++i) numbers[i] = f(in[i]...);
  store_neighbours(out, numbers, count, aligned);
}

template <class T, class F, class... In>
__global__ void map_kernel(T* out, int64_t n, bool aligned, F f, const In*... in) {
  const int64_t first = first_of_thread<T>();
  const int count = count_neighbours<T>(first, n);
  if (count > 0) map_neighbours(out + first, count, aligned, f, load_neighbours(in + first, count, aligned)...);
}

// `in`: tensors of the size and type of `out`, which may be one of them. T: that type.
template <class T, class F, class... In>
void map(const Context& context, const Tensor& out, const F& f, const In&... in) {
  launch(map_kernel<T, F, std::enable_if_t<std::is_same_v<In, Tensor>, T>...>, dim3(map_blocks<T>(out.size())),
         dim3(kMapThreads), 0, context.stream(), out.data<T>(), out.size(), all_aligned(out, in...), f,
         in.template data<T>()...);
}

}  // namespace gyre::cuda
