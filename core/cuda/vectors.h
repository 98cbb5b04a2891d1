// Neighbouring elements, which a thread takes together: in 16-byte loads and stores where all addresses allow it, one
// by one elsewhere. How they are taken changes no result.
#pragma once

#include <bit>

#include "core/cuda/numbers.h"

namespace gyre::cuda {

// 16 bytes of them, but whole blocks of dropout's random words.
template <class T>
constexpr int kNeighbours = kPack<T> < 4 ? 4 : kPack<T>;

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
    x = *reinterpret_cast<const Neighbours<T>*>(from);
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
    *reinterpret_cast<Neighbours<T>*>(to) = x;
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

// The same for numbers of the arithmetic's type beside neighbours of the data's: parameters and their sums.
template <class C, int most>
__device__ inline void load_numbers(C (&to)[most], const C* from, int count, bool aligned) {
#pragma unroll
  for (int first = 0; first < most; first += kNeighbours<C>) {
    const auto x = load_neighbours(from + first, count_neighbours<C>(first, count), aligned);
    for (int i = 0; i < kNeighbours<C>; ++i) to[first + i] = x[i];
  }
}
template <class C, int most>
__device__ inline void store_numbers(C* to, const C (&numbers)[most], int count, bool aligned) {
#pragma unroll
  for (int first = 0; first < most; first += kNeighbours<C>) {
    C some[kNeighbours<C>];
    for (int i = 0; i < kNeighbours<C>; ++i) some[i] = numbers[first + i];
    store_neighbours(to + first, some, count_neighbours<C>(first, count), aligned);
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

// Whether the elements of all of them start at multiples of 16 bytes.
template <class... Tensors>
bool all_aligned(const Tensors&... tensors) {
  return ((reinterpret_cast<uintptr_t>(tensors.raw()) % 16 == 0) && ...);
}

}  // namespace gyre::cuda
