// Neighbouring elements, which a thread takes together: in 16-byte loads and stores where all addresses allow it, one
// by one elsewhere. How they are taken changes no result.
#pragma once

#include <bit>

#include "core/cuda/numbers.h"

namespace gyre::cuda {

// 16 bytes of them, but whole blocks of dropout's random words.
template <class T>
constexpr int kNeighbours = sizeof(T) > 4 ? 4 : 16 / int(sizeof(T));

// As they lie in memory, in whole registers: they are unpacked where they are used, so that no load waits for the one
// before it.
template <class T>
struct alignas(16) Neighbours {
  static constexpr int kWords = kNeighbours<T> * int(sizeof(T)) / 4;
  uint32_t words[kWords];

  __device__ Compute<T> operator[](int i) const {
    if constexpr (sizeof(T) == 2) {
      return std::bit_cast<float>(i % 2 ? words[i / 2] & 0xFFFF0000 : words[i / 2] << 16);
    } else if constexpr (sizeof(T) == 4) {
      return std::bit_cast<T>(words[i]);
    } else {
      return std::bit_cast<T>(uint64_t(words[2 * i + 1]) << 32 | words[2 * i]);
    }
  }

  // Of an element that is 0.
  __device__ void set(int i, T x) {
    if constexpr (sizeof(T) == 2) {
      words[i / 2] |= uint32_t(x.bits) << (i % 2 * 16);
    } else if constexpr (sizeof(T) == 4) {
      words[i] = std::bit_cast<uint32_t>(x);
    } else {
      const uint64_t bits = std::bit_cast<uint64_t>(x);
      words[2 * i] = uint32_t(bits);
      words[2 * i + 1] = uint32_t(bits >> 32);
    }
  }
};

// How many of the neighbours from `first` on are below `end`.
template <class T>
__device__ inline int count_neighbours(int64_t first, int64_t end) {
  constexpr int64_t most = kNeighbours<T>;
  const int64_t left = end - first;
  return int(left < 0 ? 0 : left > most ? most : left);
}

// The first `count`, and zeros. `aligned`: whether `from` is a multiple of 16 bytes; of a part every element has its
// own load.
template <class T>
__device__ inline Neighbours<T> load_neighbours(const T* from, int count, bool aligned) {
  Neighbours<T> x{};
  if (aligned && count == kNeighbours<T>) {
#pragma unroll
    for (int i = 0; i < Neighbours<T>::kWords; i += 4) {
      const uint4 four = reinterpret_cast<const uint4*>(from)[i / 4];
      x.words[i] = four.x, x.words[i + 1] = four.y, x.words[i + 2] = four.z, x.words[i + 3] = four.w;
    }
  } else {
#pragma unroll
    for (int i = 0; i < kNeighbours<T>; ++i) {
      if (i < count) x.set(i, from[i]);
    }
  }
  return x;
}

// From the arithmetic's numbers.
template <class T>
__device__ inline Neighbours<T> rounded(const Compute<T> (&numbers)[kNeighbours<T>]) {
  Neighbours<T> x{};
#pragma unroll
  for (int i = 0; i < kNeighbours<T>; ++i) {
    T element;
    store(&element, numbers[i]);
    x.set(i, element);
  }
  return x;
}

template <class T>
__device__ inline void store_neighbours(T* to, const Neighbours<T>& x, int count, bool aligned) {
  if (aligned && count == kNeighbours<T>) {
#pragma unroll
    for (int i = 0; i < Neighbours<T>::kWords; i += 4) {
      reinterpret_cast<uint4*>(to)[i / 4] = make_uint4(x.words[i], x.words[i + 1], x.words[i + 2], x.words[i + 3]);
    }
  } else {
#pragma unroll
    for (int i = 0; i < kNeighbours<T>; ++i) {
      if (i < count) store(to + i, x[i]);
    }
  }
}
template <class T>
__device__ inline void store_neighbours(T* to, const Compute<T> (&numbers)[kNeighbours<T>], int count, bool aligned) {
  store_neighbours(to, rounded<T>(numbers), count, aligned);
}

// The same as numbers of the arithmetic, and of several neighbourhoods: beside one of another type, whose elements are
// smaller.
template <class T, int most>
__device__ inline void load_numbers(Compute<T> (&to)[most], const T* from, int count, bool aligned) {
  constexpr int N = kNeighbours<T>;
  static_assert(most % N == 0);
  if (aligned && count == most) {
#pragma unroll
    for (int first = 0; first < most; first += N) {
      const Neighbours<T> x = load_neighbours(from + first, N, true);
#pragma unroll
      for (int i = 0; i < N; ++i) to[first + i] = x[i];
    }
  } else {
#pragma unroll
    for (int i = 0; i < most; ++i) to[i] = i < count ? load(from + i) : Compute<T>(0);
  }
}
template <class T, int most>
__device__ inline void store_numbers(T* to, const Compute<T> (&numbers)[most], int count, bool aligned) {
  constexpr int N = kNeighbours<T>;
  static_assert(most % N == 0);
  if (aligned && count == most) {
#pragma unroll
    for (int first = 0; first < most; first += N) {
      Compute<T> some[N];
#pragma unroll
      for (int i = 0; i < N; ++i) some[i] = numbers[first + i];
      store_neighbours(to + first, some, N, true);
    }
  } else {
#pragma unroll
    for (int i = 0; i < most; ++i) {
      if (i < count) store(to + i, numbers[i]);
    }
  }
}

// Dropout's factors of elements first, first + 1, ..
template <class C, int count>
__device__ inline void neighbour_factors(C (&to)[count], const Dropout& mask, uint64_t first) {
  static_assert(count % 4 == 0);
  if (mask.active() && first % 4 == 0) {
#pragma unroll
    for (int quad = 0; quad < count / 4; ++quad) {
      C factors[4];
      mask.factors(factors, first / 4 + quad);
      for (int i = 0; i < 4; ++i) to[4 * quad + i] = factors[i];
    }
  } else {
#pragma unroll
    for (int i = 0; i < count; ++i) to[i] = mask.factor<C>(first + i);
  }
}

// Whether neighbours may start there, in every row of `stride` elements from `data` on, in all of the tensors.
__host__ __device__ inline bool is_aligned(const void* address) {
  return reinterpret_cast<uintptr_t>(address) % 16 == 0;
}
template <class T>
bool has_aligned_rows(const T* data, int64_t stride) {
  return is_aligned(data) && stride % kNeighbours<T> == 0;
}
template <class... Tensors>
bool all_aligned(const Tensors&... tensors) {
  return (is_aligned(tensors.raw()) && ...);
}

}  // namespace gyre::cuda
