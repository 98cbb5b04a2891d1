// Philox for many counters at once: the same numbers as core/random.h, sixteen counters wide.
#pragma once

#include <cstdint>
#include <cstring>
#include <utility>

#include "core/cpu/small_gemm.h"

namespace gyre::GYRE_CPU_NAMESPACE {

constexpr int kPhiloxLanes = 16;
constexpr int kPhiloxWords = 4 * kPhiloxLanes;

// One register of 32-bit words, each in 64 bits so that products need no widening.
constexpr size_t kPhiloxStep = kVectorBytes / sizeof(uint64_t);
typedef uint64_t PhiloxVector __attribute__((vector_size(kVectorBytes)));

// 0, 1, 2, ..
template <size_t... I>
inline PhiloxVector lane_numbers(std::index_sequence<I...>) {
  return PhiloxVector{I...};
}

// a0 b0 a1 b1 .. from element `start` of both on.
template <size_t start, size_t... I>
inline PhiloxVector interleave(PhiloxVector a, PhiloxVector b, std::index_sequence<I...>) {
  return __builtin_shuffle(a, b, PhiloxVector{(start + I / 2 + (I % 2) * kPhiloxStep)...});
}

// words[i] = random_u32(seed, stream, 4 * counter + i), i < 4 * kPhiloxStep.
inline void philox_step(uint32_t* words, uint64_t seed, uint64_t stream, uint64_t counter) {
  constexpr auto lanes = std::make_index_sequence<kPhiloxStep>();
  const PhiloxVector zero{}, low = zero + 0xFFFFFFFF;
  const PhiloxVector counters = counter + lane_numbers(lanes);
  PhiloxVector c0 = counters & low, c1 = counters >> 32;
  PhiloxVector c2 = zero + (stream & 0xFFFFFFFF), c3 = zero + (stream >> 32);
  uint32_t k0 = uint32_t(seed), k1 = uint32_t(seed >> 32);
  for (int round = 0; round < 10; ++round, k0 += 0x9E3779B9, k1 += 0xBB67AE85) {
    const PhiloxVector p0 = c0 * 0xD2511F53, p1 = c2 * 0xCD9E8D57;
    c0 = (p1 >> 32) ^ c1 ^ uint64_t(k0);
    c1 = p1 & low;
    c2 = (p0 >> 32) ^ c3 ^ uint64_t(k1);
    c3 = p0 & low;
  }
  const PhiloxVector first = c0 | (c1 << 32), second = c2 | (c3 << 32);
  const PhiloxVector pairs[2] = {interleave<0>(first, second, lanes),
                                 interleave<kPhiloxStep / 2>(first, second, lanes)};
  std::memcpy(words, pairs, sizeof(pairs));
}

// words[i] = random_u32(seed, stream, 4 * counter + i), i < kPhiloxWords.
inline void philox_block(uint32_t* words, uint64_t seed, uint64_t stream, uint64_t counter) {
  for (int i = 0; i < kPhiloxLanes; i += int(kPhiloxStep))
    philox_step(words + 4 * i, seed, stream, counter + uint64_t(i));
}

// Elements whose word is below it are dropped.
inline uint32_t dropout_threshold(double rate) { return uint32_t(rate * 4294967296.0); }

}  // namespace gyre::GYRE_CPU_NAMESPACE
