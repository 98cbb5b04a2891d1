// Packs of adjacent elements that a thread loads and stores together: in 16-byte accesses if all addresses are
// aligned, otherwise one by one. Results do not depend on the alignment.
#pragma once

#include <bit>

#include "gyre/core/cuda/numbers.h"
#include "gyre/core/kernels/gpu_blocks.h"

namespace gyre::cuda {

template <class T>
constexpr int kPackSize = pack_size(sizeof(T));

// A pack in its memory layout, in whole registers. Elements are unpacked only when they are used, so that loads do not
// wait for each other.
template <class T>
struct alignas(16) Pack {
  static constexpr int kWords = kPackSize<T> * int(sizeof(T)) / 4;
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

  // Sets element i, which must be 0 before.
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

// The number of elements of the pack that starts at `first` which are below `end`.
template <class T>
__device__ inline int count_in_pack(int64_t first, int64_t end) {
  constexpr int64_t most = kPackSize<T>;
  const int64_t left = end - first;
  return int(left < 0 ? 0 : left > most ? most : left);
}

// Loads the first `count` elements of a pack; the others are 0. `aligned`: `from` is a multiple of 16 bytes. The
// elements of an incomplete pack are loaded one by one.
template <class T>
__device__ inline Pack<T> load_pack(const T* from, int count, bool aligned) {
  Pack<T> x{};
  if (aligned && count == kPackSize<T>) {
#pragma unroll
    for (int i = 0; i < Pack<T>::kWords; i += 4) {
      const uint4 four = reinterpret_cast<const uint4*>(from)[i / 4];
      x.words[i] = four.x, x.words[i + 1] = four.y, x.words[i + 2] = four.z, x.words[i + 3] = four.w;
    }
  } else {
#pragma unroll
    for (int i = 0; i < kPackSize<T>; ++i) {
      if (i < count) x.set(i, from[i]);
    }
  }
  return x;
}

// Rounds numbers of the arithmetic type to a pack.
template <class T>
__device__ inline Pack<T> rounded(const Compute<T> (&numbers)[kPackSize<T>]) {
  Pack<T> x{};
#pragma unroll
  for (int i = 0; i < kPackSize<T>; ++i) {
    T element;
    store(&element, numbers[i]);
    x.set(i, element);
  }
  return x;
}

template <class T>
__device__ inline void store_pack(T* to, const Pack<T>& x, int count, bool aligned) {
  if (aligned && count == kPackSize<T>) {
#pragma unroll
    for (int i = 0; i < Pack<T>::kWords; i += 4) {
      reinterpret_cast<uint4*>(to)[i / 4] = make_uint4(x.words[i], x.words[i + 1], x.words[i + 2], x.words[i + 3]);
    }
  } else {
#pragma unroll
    for (int i = 0; i < kPackSize<T>; ++i) {
      if (i < count) store(to + i, x[i]);
    }
  }
}
template <class T>
__device__ inline void store_pack(T* to, const Compute<T> (&numbers)[kPackSize<T>], int count, bool aligned) {
  store_pack(to, rounded<T>(numbers), count, aligned);
}

// Loads and stores numbers of the arithmetic type. `most` may be several packs, to match one pack of a type with
// smaller elements.
template <class T, int most>
__device__ inline void load_numbers(Compute<T> (&to)[most], const T* from, int count, bool aligned) {
  constexpr int N = kPackSize<T>;
  static_assert(most % N == 0);
  if (aligned && count == most) {
#pragma unroll
    for (int first = 0; first < most; first += N) {
      const Pack<T> x = load_pack(from + first, N, true);
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
  constexpr int N = kPackSize<T>;
  static_assert(most % N == 0);
  if (aligned && count == most) {
#pragma unroll
    for (int first = 0; first < most; first += N) {
      Compute<T> some[N];
#pragma unroll
      for (int i = 0; i < N; ++i) some[i] = numbers[first + i];
      store_pack(to + first, some, N, true);
    }
  } else {
#pragma unroll
    for (int i = 0; i < most; ++i) {
      if (i < count) store(to + i, numbers[i]);
    }
  }
}

// Dropout factors of elements first, first + 1, ..
template <class C, int count>
__device__ inline void pack_factors(C (&to)[count], const Dropout& mask, uint64_t first) {
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

// True if packs are aligned to 16 bytes: at an address; in all rows of `stride` elements from `data` on; in tensors.
__host__ __device__ inline bool is_aligned(const void* address) {
  return reinterpret_cast<uintptr_t>(address) % 16 == 0;
}
template <class T>
bool has_aligned_rows(const T* data, int64_t stride) {
  return is_aligned(data) && stride % kPackSize<T> == 0;
}
template <class... Tensors>
bool all_aligned(const Tensors&... tensors) {
  return (is_aligned(tensors.raw()) && ...);
}

}  // namespace gyre::cuda
