// Bit-exact emulation of the dot product of FEAT_BF16 (BFDOT, and BFMMLA, which adds one pair after the other), for
// tests on CPUs without the instruction. According to the Arm Architecture Reference Manual (DDI 0487, function
// BFDotAdd with FPCR.EBF = 0, as Linux sets it), the two products of a pair are added to each other, then to the sum.
// Each addition rounds to odd: an inexact result is truncated and its last bit set. Subnormal operands are zero, and
// subnormal results are flushed to zero.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace gyre::GYRE_CPU_NAMESPACE {

// x + y, rounded to odd. Rounding to odd twice, to double and to float, does not change the result. The rounding error
// of the addition in double is exact (TwoSum of Knuth, The Art of Computer Programming, volume 2, section 4.2.2).
inline float add_rounding_to_odd(double x, double y) {
  constexpr uint64_t kDropped = (uint64_t{1} << 29) - 1;  // bits of a double's mantissa that a float lacks
  const double sum = x + y;
  if (!std::isfinite(sum)) return float(sum);
  const double second = sum - x, error = (x - (sum - second)) + (y - second);
  auto bits = std::bit_cast<uint64_t>(sum);
  if (error != 0 && bits % 2 == 0) bits += (error < 0) == (sum < 0) ? 1 : ~uint64_t{0};
  if (std::abs(std::bit_cast<double>(bits)) < 0x1p-126) return std::copysign(0.0f, float(sum));
  const auto truncated = float(std::bit_cast<double>(bits & ~kDropped));
  const bool is_inexact = (bits & kDropped) != 0 && std::isfinite(truncated);
  return is_inexact ? std::bit_cast<float>(std::bit_cast<uint32_t>(truncated) | 1) : truncated;
}

// Adds the products of two pairs of bf16 to `sum`. In each pair, the second number is in the upper half.
inline float add_bf16_products_of_arm(float sum, uint32_t a, uint32_t b) {
  const auto flushed = [](float x) { return std::abs(x) < 0x1p-126f ? 0 * x : x; };
  const auto lower = [&](uint32_t pair) { return flushed(std::bit_cast<float>(pair << 16)); };
  const auto upper = [&](uint32_t pair) { return flushed(std::bit_cast<float>(pair & 0xFFFF0000)); };
  // A product of two bf16 numbers is exact in float unless it is subnormal or overflows.
  const auto product = [&](float x, float y) { return flushed(float(double(x) * double(y))); };
  const float products = add_rounding_to_odd(product(lower(a), lower(b)), product(upper(a), upper(b)));
  return add_rounding_to_odd(flushed(sum), products);
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
