// Bit-exact emulation of the dot product of AVX512-BF16 (VDPBF16PS), for tests on CPUs without the instruction.
// According to Intel's manual (SDM volume 2, VDPBF16PS), the upper product of each pair is added first, then the lower
// one. Each addition is a fused multiply-add that rounds to nearest even, treats subnormal operands as zero and flushes
// subnormal results to zero.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "gyre/core/cpu/gemm/bf16_dot_arm.h"
#include "gyre/core/cpu/vector_type.h"
#include "gyre/core/float16.h"

namespace gyre::GYRE_CPU_NAMESPACE {

// The fused multiply-add sum + a * b described above. A product of two bf16 numbers is exact in double. Rounding the
// sum to double before float does not change the result, because 53 >= 2 * 24 + 2 (Figueroa 1995).
inline float fused_multiply_add_bf16(float sum, float a, float b) {
  constexpr float kLeastNormal = 0x1p-126f;
  const auto flushed = [](float x) { return std::abs(x) < kLeastNormal ? 0 * x : x; };
  const double exact = double(flushed(sum)) + double(flushed(a)) * double(flushed(b));
  // A result counts as subnormal if it is subnormal after rounding to 24 bits.
  return std::abs(exact) < double(kLeastNormal) - 0x1p-151 ? std::copysign(0.0f, float(exact)) : float(exact);
}

// Adds the products of two pairs of bf16 to `sum`. In each pair, the second number is in the upper half.
inline float add_bf16_products(float sum, uint32_t a, uint32_t b) {
  const auto lower = [](uint32_t pair) { return std::bit_cast<float>(pair << 16); };
  const auto upper = [](uint32_t pair) { return std::bit_cast<float>(pair & 0xFFFF0000); };
  return fused_multiply_add_bf16(fused_multiply_add_bf16(sum, upper(a), upper(b)), lower(a), lower(b));
}

// The emulation of the instruction that kernels for this architecture use.
inline float add_emulated_dot_product(float sum, uint32_t a, uint32_t b) {
  return kHasNeon ? add_bf16_products_of_arm(sum, a, b) : add_bf16_products(sum, a, b);
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
