// What dropout multiplies with: 0 for a dropped element, 1 / (1 - rate) for a kept one.
#pragma once

#include <algorithm>

#include "core/cpu/philox_block.h"
#include "core/kernels.h"

namespace gyre::GYRE_CPU_NAMESPACE {

// factors[i] = that of element first + i of the mask, i < n.
template <class T>
void dropout_factors(T* factors, int64_t n, const DropoutMask& mask, int64_t first) {
  const T kept = T(1 / (1 - mask.rate));
  const uint32_t threshold = dropout_threshold(mask.rate);
  uint32_t words[kPhiloxWords];
  for (int64_t i = 0; i < n;) {
    const int64_t element = first + i, skipped = element % 4;
    philox_block(words, mask.seed, mask.stream, uint64_t(element / 4));
    const int64_t count = std::min<int64_t>(kPhiloxWords - skipped, n - i);
#pragma omp simd
    for (int64_t j = 0; j < count; ++j) factors[i + j] = kept * T(int(words[skipped + j] >= threshold));
    i += count;
  }
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
