// The dot product of AVX512-BF16 (VDPBF16PS) in plain C++, bit for bit, for tests on CPUs that lack the instruction.
// Intel's manual (SDM volume 2, VDPBF16PS): of each pair the upper product is added first, then the lower one, each by
// a fused multiply-add that rounds to nearest even, takes subnormal operands as zero and flushes subnormal results to
// zero.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "core/bfloat16.h"

namespace gyre::GYRE_CPU_NAMESPACE {

// sum + a * b as above. A product of two bf16 is exact in double, and rounding the sum to double before float changes
// nothing: 53 bits are more than twice 24, plus two (Figueroa 1995).
inline float fused_multiply_add_bf16(float sum, float a, float b) {
  constexpr float kLeastNormal = 0x1p-126f;
  const auto flushed = [](float x) { return std::abs(x) < kLeastNormal ? 0 * x : x; };
  const double exact = double(flushed(sum)) + double(flushed(a)) * double(flushed(b));
  // A result is subnormal if it is after rounding to 24 bits: below half a unit under the least normal number.
  return std::abs(exact) < double(kLeastNormal) - 0x1p-151 ? std::copysign(0.0f, float(exact)) : float(exact);
}

// a, b: pairs of bf16, the second one in the upper half.
inline float add_bf16_products(float sum, uint32_t a, uint32_t b) {
  const auto lower = [](uint32_t pair) { return std::bit_cast<float>(pair << 16); };
  const auto upper = [](uint32_t pair) { return std::bit_cast<float>(pair & 0xFFFF0000); };
  return fused_multiply_add_bf16(fused_multiply_add_bf16(sum, upper(a), upper(b)), lower(a), lower(b));
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
