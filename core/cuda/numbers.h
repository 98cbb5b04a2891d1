// Building blocks of device code: arithmetic types, loads and stores, sums over warps and blocks, dropout factors.
#pragma once

#include <cuda_bf16.h>

#include <type_traits>

#include "gyre/core/float16.h"
#include "gyre/core/random.h"
#include "gyre/core/tensor.h"

namespace gyre::cuda {

constexpr int kWarp = 32;

// The type of the arithmetic for data of type T: bf16 is a storage type, and its arithmetic is fp32.
template <class T>
using Compute = std::conditional_t<std::is_same_v<T, bfloat16>, float, T>;

template <class T>
__device__ inline Compute<T> load(const T* from) {
  return Compute<T>(*from);
}
template <class T>
__device__ inline void store(T* to, Compute<T> x) {
  *to = x;
}
__device__ inline void store(bfloat16* to, float x) { to->bits = __bfloat16_as_ushort(__float2bfloat16_rn(x)); }

// Sum and maximum over the 32 lanes of a warp. All lanes get the result.
template <class T>
__device__ inline T warp_sum(T x) {
  for (int step = kWarp / 2; step > 0; step /= 2) x += __shfl_xor_sync(0xFFFFFFFF, x, step);
  return x;
}
template <class T>
__device__ inline T warp_max(T x) {
  for (int step = kWarp / 2; step > 0; step /= 2) {
    const T other = __shfl_xor_sync(0xFFFFFFFF, x, step);
    x = other > x ? other : x;
  }
  return x;
}

// Sum and maximum over a block of whole warps, in a fixed order. All threads get the result. `scratch` holds 32 numbers
// in shared memory.
template <class T>
__device__ inline T block_sum(T x, T* scratch) {
  const int lane = int(threadIdx.x) % kWarp, warp = int(threadIdx.x) / kWarp, warps = int(blockDim.x) / kWarp;
  x = warp_sum(x);
  __syncthreads();  // all threads have read the scratch of an earlier call
  if (lane == 0) scratch[warp] = x;
  __syncthreads();
  return warp_sum(lane < warps ? scratch[lane] : T(0));
}
template <class T>
__device__ inline T block_max(T x, T* scratch) {
  const int lane = int(threadIdx.x) % kWarp, warp = int(threadIdx.x) / kWarp, warps = int(blockDim.x) / kWarp;
  x = warp_max(x);
  __syncthreads();
  if (lane == 0) scratch[warp] = x;
  __syncthreads();
  return warp_max(scratch[lane < warps ? lane : 0]);
}

// Dropout factors of a DropoutMask (core/kernels/arguments.h). The same elements are dropped as on a CPU.
// C: the type of the arithmetic.
struct Dropout {
  uint64_t seed = 0, stream = 0;
  uint32_t threshold = 0;  // an element is kept if its random word is at least the threshold
  float kept = 1;          // 1 / (1 - rate)
  double kept_double = 1;

  __device__ bool active() const { return threshold > 0; }
  template <class C>
  __device__ C kept_as() const {
    if constexpr (std::is_same_v<C, double>) return kept_double;
    return kept;
  }
  template <class C = float>
  __device__ C factor(uint64_t element) const {
    return !active() || random_u32(seed, stream, element) >= threshold ? kept_as<C>() : 0;
  }
  // Factors of elements 4 * quad .. 4 * quad + 3, with one call of the generator.
  template <class C>
  __device__ void factors(C (&to)[4], uint64_t quad) const {
    const auto words = philox(seed, stream, quad);
    for (int i = 0; i < 4; ++i) to[i] = !active() || words[size_t(i)] >= threshold ? kept_as<C>() : 0;
  }
};

}  // namespace gyre::cuda
