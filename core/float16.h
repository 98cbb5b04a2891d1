// 16-bit floating-point types, for storage only: arithmetic is done in fp32.
#pragma once

#include <bit>
#include <cstdint>

namespace gyre {

// bfloat16: the upper half of an fp32 number. A storage type only: arithmetic is done in fp32.
struct bfloat16 {
  uint16_t bits;

  bfloat16() = default;
  // Rounds to nearest, ties to even. NaNs that arithmetic produces stay NaN.
  constexpr explicit bfloat16(float x) : bits(0) { *this = x; }
  // Same rounding. Loops store with it, because a loop that copies a temporary is not vectorized.
  constexpr bfloat16& operator=(float x) {
    const uint32_t u = std::bit_cast<uint32_t>(x);
    bits = uint16_t((u + 0x7FFF + ((u >> 16) & 1)) >> 16);
    return *this;
  }
  constexpr operator float() const { return std::bit_cast<float>(uint32_t(bits) << 16); }
};

struct float16 {
  uint16_t bits;

  // Exact: float represents every half-precision number.
  constexpr operator float() const {
    const uint32_t sign = uint32_t(bits & 0x8000) << 16, magnitude = bits & 0x7FFF;
    constexpr uint32_t kSmallestNormal = 0x0400, kInfinity = 0x7C00;
    if (magnitude < kSmallestNormal) {  // zero and subnormals: multiples of 2^-24
      return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(float(magnitude) * 0x1p-24F));
    }
    constexpr uint32_t kBias = (127 - 15) << 23, kSpecialBias = (255 - 31) << 23;
    return std::bit_cast<float>(sign | ((magnitude << 13) + (magnitude < kInfinity ? kBias : kSpecialBias)));
  }
};

}  // namespace gyre
