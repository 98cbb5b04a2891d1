// Gradients on their way between ranks: arrays of the communication dtype, fp32 or bf16.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "gyre/core/float16.h"
#include "gyre/core/tensor.h"

namespace gyre {

inline void pack(const float* from, int64_t n, DType comm_dtype, std::byte* to) {
  if (comm_dtype == DType::f32) {
    std::memcpy(to, from, size_t(n) * sizeof(float));
  } else {
    auto* const out = reinterpret_cast<bfloat16*>(to);
    for (int64_t i = 0; i < n; ++i) out[i] = from[i];
  }
}

inline void unpack(const std::byte* from, int64_t n, DType comm_dtype, float* to) {
  if (comm_dtype == DType::f32) {
    std::memcpy(to, from, size_t(n) * sizeof(float));
  } else {
    const auto* const in = reinterpret_cast<const bfloat16*>(from);
    for (int64_t i = 0; i < n; ++i) to[i] = float(in[i]);
  }
}

}  // namespace gyre
