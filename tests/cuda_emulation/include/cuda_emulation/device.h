// The part of CUDA C++ that kernels use, for an ordinary C++ compiler: keywords, built-in variables, vector types,
// barriers, shuffles and intrinsics. The threads of a block are fibers of one thread of the process (block.h).
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <source_location>
#include <type_traits>

#include "cuda_emulation/hooks.h"

#define __global__
#define __device__
#define __host__
#define __grid_constant__
#define __launch_bounds__(...)

// A static shared variable is a static variable of its function. The marker tells the emulator that the current block
// has entered the function; the emulator finds the variables by the function's name in the symbol table.
#define GYRE_JOIN_NAMES(a, b) a##b
#define GYRE_SHARED_MARKER(line) GYRE_JOIN_NAMES(shared_marker_, line)
#define __shared__                                                       \
  static char GYRE_SHARED_MARKER(__LINE__);                              \
  cuda_emulation::enter_shared_variables(&GYRE_SHARED_MARKER(__LINE__)); \
  static

struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};

extern uint3 threadIdx, blockIdx;  // indices of the thread that runs
extern dim3 blockDim, gridDim;

namespace cuda_emulation {

// Base of vector types: copies check the alignment that one access of a GPU needs.
template <class Vector>
struct Aligned {
  Aligned() = default;
  Aligned(const Aligned& other) { check(other); }
  Aligned& operator=(const Aligned& other) {
    check(*this);
    check(other);
    return *this;
  }

 private:
  static void check(const Aligned& vector) {
    uintptr_t address = reinterpret_cast<uintptr_t>(&vector);
    asm("" : "+r"(address));  // or the compiler would take the alignment for granted
    if (address % alignof(Vector) != 0) misaligned_access(alignof(Vector));
  }
};

}  // namespace cuda_emulation

struct alignas(16) uint4 : cuda_emulation::Aligned<uint4> {
  uint4() = default;
  uint4(unsigned x, unsigned y, unsigned z, unsigned w) : x(x), y(y), z(z), w(w) {}
  unsigned x, y, z, w;
};
struct alignas(8) float2 : cuda_emulation::Aligned<float2> {
  float2() = default;
  float2(float x, float y) : x(x), y(y) {}
  float x, y;
};
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
inline float2 make_float2(float x, float y) { return {x, y}; }

template <class T>
T min(T a, T b) {
  return b < a ? b : a;
}
template <class T>
T max(T a, T b) {
  return a < b ? b : a;
}
inline float __expf(float x) { return std::exp(x); }

inline void __syncthreads(std::source_location at = std::source_location::current()) { cuda_emulation::barrier(at); }
inline void __syncwarp(std::source_location at = std::source_location::current()) { cuda_emulation::sync_warp(at); }

namespace cuda_emulation {

template <class T>
T shuffled(unsigned mask, T x, int source, std::source_location at) {
  static_assert(sizeof(T) <= sizeof(uint64_t) && std::is_trivially_copyable_v<T>);
  uint64_t bits = 0;
  std::memcpy(&bits, &x, sizeof(x));
  bits = shuffle(mask, bits, source, at);
  std::memcpy(&x, &bits, sizeof(x));
  return x;
}

}  // namespace cuda_emulation

template <class T>
T __shfl_sync(unsigned mask, T x, int source, std::source_location at = std::source_location::current()) {
  return cuda_emulation::shuffled(mask, x, source % 32, at);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T x, int flipped, std::source_location at = std::source_location::current()) {
  return cuda_emulation::shuffled(mask, x, cuda_emulation::lane() ^ flipped, at);
}
