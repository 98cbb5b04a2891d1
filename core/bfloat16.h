// bfloat16: the upper half of an fp32 number. Storage only: arithmetic is done in fp32.
#pragma once

#include <bit>
#include <cstdint>

namespace gyre {

struct bfloat16 {
  uint16_t bits;

  bfloat16() = default;
  // Rounds to nearest, ties to even; the NaNs that arithmetic makes stay NaN.
  constexpr explicit bfloat16(float x) : bits(0) { *this = x; }
  // What loops store with: they are not vectorised where a temporary is made and copied.
  constexpr bfloat16& operator=(float x) {
    const uint32_t u = std::bit_cast<uint32_t>(x);
    bits = uint16_t((u + 0x7FFF + ((u >> 16) & 1)) >> 16);
    return *this;
  }
  constexpr operator float() const { return std::bit_cast<float>(uint32_t(bits) << 16); }
};

}  // namespace gyre
