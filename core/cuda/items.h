// Neighbours in memory that a thread moves at once, and whether a tensor's rows allow it.
#pragma once

#include <cstdint>

#include "core/cuda/numbers.h"

namespace gyre::cuda {

// N neighbours that start at a multiple of `alignment` bytes; sizeof(T) makes no demand.
template <class T, int N, size_t alignment>
struct alignas(alignment) Items {
  T items[N];
};
// The same in 16-byte moves, or in one where all of them are fewer bytes.
template <class T, int N>
constexpr size_t kWholeAlignment = N * sizeof(T) < 16 ? N * sizeof(T) : 16;

template <size_t alignment, class T, int N>
__device__ inline void load_items(Compute<T> (&to)[N], const T* from) {
  const auto items = *reinterpret_cast<const Items<T, N, alignment>*>(from);
#pragma unroll
  for (int i = 0; i < N; ++i) to[i] = load(&items.items[i]);
}
template <size_t alignment, class T, int N>
__device__ inline void store_items(T* to, const Compute<T> (&from)[N]) {
  Items<T, N, alignment> items;
#pragma unroll
  for (int i = 0; i < N; ++i) store(&items.items[i], from[i]);
  *reinterpret_cast<Items<T, N, alignment>*>(to) = items;
}

// Whether all rows of `stride` elements from `data` on may be moved by N.
template <int N, class T>
__host__ __device__ inline bool moves_by(const T* data, int64_t stride) {
  return reinterpret_cast<uintptr_t>(data) % kWholeAlignment<T, N> == 0 && stride % N == 0;
}

// At once where the address allows it.
template <class T, int N>
__device__ inline void store_anywhere(T* to, const Compute<T> (&from)[N]) {
  if (moves_by<N>(to, 0)) {
    store_items<kWholeAlignment<T, N>>(to, from);
  } else {
    store_items<sizeof(T)>(to, from);
  }
}

}  // namespace gyre::cuda
