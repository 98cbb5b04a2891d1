// Dropout factors: 0 for a dropped element, 1 / (1 - rate) for a kept one.
#pragma once

#include <algorithm>

#include "gyre/core/cpu/philox_block.h"
#include "gyre/core/kernels/kernels.h"

namespace gyre::GYRE_CPU_NAMESPACE {

// factors[i] = factor of element first + i of the mask, i < n.
template <class T>
void dropout_factors(T* factors, int64_t n, const DropoutMask& mask, int64_t first) {
  constexpr int kRegisters = 4, kWords = kRegisters * 4 * int(kPhiloxStep);
  const T kept = T(1 / (1 - mask.rate));
  const uint32_t threshold = dropout_threshold(mask.rate);
  uint32_t words[kWords];
  for (int64_t i = 0; i < n;) {
    const int64_t element = first + i, skipped = element % 4;  // each counter gives four words
    philox_step<kRegisters>(words, mask.seed, mask.stream, uint64_t(element / 4));
    const int64_t count = std::min<int64_t>(kWords - skipped, n - i);
#pragma omp simd
    for (int64_t j = 0; j < count; ++j) factors[i + j] = kept * T(int(words[skipped + j] >= threshold));
    i += count;
  }
}

constexpr int64_t kFactors = 256;  // generated at a time

// Calls f(begin, end, keep) for consecutive ranges of [0, n), where keep(j) is the factor of element first + j of the
// mask, begin <= j < end. Without dropout there is one range, and keep(j) is the compile-time constant 1.
template <class T, class F>
void for_ranges_of_mask(int64_t n, int64_t first, const DropoutMask& mask, F&& f) {
  if (mask.rate == 0) return f(int64_t{0}, n, [](int64_t) { return T(1); });
  T factors[kFactors];
  for (int64_t begin = 0; begin < n; begin += kFactors) {
    const int64_t end = std::min(n, begin + kFactors);
    dropout_factors(factors, end - begin, mask, first + begin);
    f(begin, end, [&factors, begin](int64_t j) { return factors[j - begin]; });
  }
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
