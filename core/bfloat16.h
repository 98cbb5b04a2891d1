// bfloat16: the upper half of an fp32 number. A storage type only: arithmetic is done in fp32.
#pragma once

#include <bit>
#include <cstdint>

namespace gyre {

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

}  // namespace gyre
