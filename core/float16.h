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

  float16() = default;
  // Rounds to nearest, ties to even. Numbers from 65,520 on become infinite.
  constexpr explicit float16(float x) : bits(0) {
    constexpr uint32_t kSmallestNormal = (127 - 14) << 23, kOverflow = (127 + 16) << 23, kInfinity = 255 << 23;
    const uint32_t u = std::bit_cast<uint32_t>(x), magnitude = u & 0x7FFFFFFF;
    if (magnitude >= kOverflow) {
      bits = magnitude > kInfinity ? 0x7E00 : 0x7C00;
    } else if (magnitude < kSmallestNormal) {  // the sum is a multiple of 2^-24, rounded like any other
      bits = uint16_t(std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - std::bit_cast<uint32_t>(0.5F));
    } else {
      constexpr uint32_t kBias = (127 - 15) << 10;
      bits = uint16_t(((magnitude + 0xFFF + ((magnitude >> 13) & 1)) >> 13) - kBias);
    }
    bits = uint16_t(bits | (u >> 16 & 0x8000));
  }

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
