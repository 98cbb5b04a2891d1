// The conversions of cuda_bf16.h that the kernels use.
#pragma once

#include <bit>

#include "cuda_emulation/device.h"

struct __nv_bfloat16 {
  uint16_t bits;
};

// Rounds to nearest, ties to even. Every NaN becomes 0x7FFF.
inline __nv_bfloat16 __float2bfloat16_rn(float x) {
  if (std::isnan(x)) return {0x7FFF};
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  return {uint16_t((bits + 0x7FFF + (bits >> 16 & 1)) >> 16)};
}
inline uint16_t __bfloat16_as_ushort(__nv_bfloat16 x) { return x.bits; }
