// Vectorized Philox: the same numbers as in core/random.h, for whole registers of counters at a time.
#pragma once

#ifdef __x86_64__
#include <immintrin.h>
#else
#include <arm_neon.h>
#endif

#include <cstdint>
#include <cstring>
#include <utility>

#include "gyre/core/cpu/vector_type.h"

namespace gyre::GYRE_CPU_NAMESPACE {

// A register of 32-bit words, each in the lower half of 64 bits, so that products need no widening.
constexpr size_t kPhiloxStep = kVectorBytes / sizeof(uint64_t);
typedef uint64_t PhiloxVector __attribute__((vector_size(kVectorBytes)));

// The 64-bit products of the lower halves. The upper halves are ignored.
inline PhiloxVector lower_product(PhiloxVector a, PhiloxVector b) {
#ifdef __AVX512F__
  return PhiloxVector(_mm512_maskz_mul_epu32(0xFF, __m512i(a), __m512i(b)));  // GCC 12 warns of _mm512_mul_epu32
#elif defined(__ARM_NEON)
  return PhiloxVector(vmull_u32(vmovn_u64(uint64x2_t(a)), vmovn_u64(uint64x2_t(b))));
#else
  return PhiloxVector(_mm256_mul_epu32(__m256i(a), __m256i(b)));
#endif
}

// 0, 1, 2, ..
template <size_t... I>
inline PhiloxVector lane_numbers(std::index_sequence<I...>) {
  return PhiloxVector{I...};
}

// Interleaves both vectors from element `start` on: a0 b0 a1 b1 ..
template <size_t start, size_t... I>
inline PhiloxVector interleave(PhiloxVector a, PhiloxVector b, std::index_sequence<I...>) {
  return __builtin_shufflevector(a, b, (start + I / 2 + (I % 2) * kPhiloxStep)...);
}

// words[i] = random_u32(seed, stream, 4 * counter + i), i < 4 * kPhiloxStep * Registers. Each round depends on the
// previous one; several independent registers hide the latency.
template <int Registers = 1>
inline void philox_step(uint32_t* words, uint64_t seed, uint64_t stream, uint64_t counter) {
  constexpr auto lanes = std::make_index_sequence<kPhiloxStep>();
  const PhiloxVector zero{}, low = zero + 0xFFFFFFFF, m0 = zero + 0xD2511F53, m1 = zero + 0xCD9E8D57;
  PhiloxVector c0[Registers], c1[Registers], c2[Registers], c3[Registers];
  GYRE_UNROLL
  for (int r = 0; r < Registers; ++r) {
    c0[r] = counter + uint64_t(r) * kPhiloxStep + lane_numbers(lanes);
    c1[r] = c0[r] >> 32;
    c2[r] = zero + stream;
    c3[r] = c2[r] >> 32;
  }
  PhiloxVector k0 = zero + (seed & 0xFFFFFFFF), k1 = zero + (seed >> 32);
  GYRE_UNROLL
  for (int round = 0; round < 10; ++round, k0 += 0x9E3779B9, k1 += 0xBB67AE85) {
    GYRE_UNROLL
    for (int r = 0; r < Registers; ++r) {
      const PhiloxVector p0 = lower_product(c0[r], m0), p1 = lower_product(c2[r], m1);
      c0[r] = (p1 >> 32) ^ c1[r] ^ k0;
      c1[r] = p1;
      c2[r] = (p0 >> 32) ^ c3[r] ^ k1;
      c3[r] = p0;
    }
  }
  GYRE_UNROLL
  for (int r = 0; r < Registers; ++r) {
    const PhiloxVector first = (c0[r] & low) | (c1[r] << 32), second = (c2[r] & low) | (c3[r] << 32);
    const PhiloxVector pairs[2] = {interleave<0>(first, second, lanes),
                                   interleave<kPhiloxStep / 2>(first, second, lanes)};
    std::memcpy(words + size_t(r) * 4 * kPhiloxStep, pairs, sizeof(pairs));
  }
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
