// IEEE 754 half precision: a sign bit, 5 bits of exponent, 10 of mantissa. Used only to read files of other programs.
#pragma once

#include <bit>
#include <cstdint>

namespace gyre {

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
