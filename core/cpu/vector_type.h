// Vector types of the register size of the instruction set: 64 bytes with AVX-512, 32 with AVX, otherwise 16.
#pragma once

#include <cstdint>

#include "gyre/core/kernels/unroll.h"

namespace gyre::GYRE_CPU_NAMESPACE {

#if defined(__AVX512F__)
constexpr int64_t kVectorBytes = 64;
#elif defined(__AVX__)
constexpr int64_t kVectorBytes = 32;
#else
constexpr int64_t kVectorBytes = 16;
#endif

#ifdef __ARM_NEON
constexpr bool kHasNeon = true;
#else
constexpr bool kHasNeon = false;
#endif

template <class T>
constexpr int64_t kLanes = kVectorBytes / int64_t(sizeof(T));

constexpr int64_t round_up(int64_t n, int64_t multiple) { return (n + multiple - 1) / multiple * multiple; }

template <class T>
struct VectorOf {
  typedef T type __attribute__((vector_size(kVectorBytes), aligned(alignof(T)), may_alias));
};

}  // namespace gyre::GYRE_CPU_NAMESPACE
