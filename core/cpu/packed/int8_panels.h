// Rounds rows to int8 and packs them into panels. An element of a panel holds four neighbors along the summed index,
// the operand layout of VPDPBUSD. Rows of activations are stored as unsigned bytes, q + 128, the other operand of the
// instruction; each column of a weight has the 128 times the sum of its integers that this adds.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>

#include "gyre/core/cpu/gemm/gemm_tile.h"

namespace gyre::GYRE_CPU_NAMESPACE {

constexpr int64_t kInt8Group = 4;
constexpr uint32_t kInt8Offset = 0x80808080;  // turns q into q + 128 in each byte, and back
// Sums of more products could exceed 32 bits.
constexpr int64_t kMostInt8Products = int64_t{1} << 16;

inline int64_t int8_groups(int64_t k) { return (k + kInt8Group - 1) / kInt8Group; }

// A panel of rows: `scales`, then `elements`(groups, kTileRows).
struct Int8Rows {
  float* scales;
  uint32_t* elements;

  explicit Int8Rows(void* panel)
      : scales(static_cast<float*>(panel)), elements(static_cast<uint32_t*>(panel) + kHeader) {}
  static int64_t bytes(int64_t k) { return round_up((kHeader + int8_groups(k) * kTileRows) * 4, 64); }

 private:
  static constexpr int64_t kHeader = (kTileRows + 15) / 16 * 16;
};

// A panel of columns, which are rows of the weight: `scales`, `offsets`, then `elements`(groups, width).
struct Int8Columns {
  static constexpr int64_t width = kTileColumns<float>;
  float* scales;
  int32_t* offsets;
  uint32_t* elements;

  explicit Int8Columns(void* panel)
      : scales(static_cast<float*>(panel)),
        offsets(static_cast<int32_t*>(panel) + width),
        elements(static_cast<uint32_t*>(panel) + 2 * width) {}
  static int64_t bytes(int64_t k) { return round_up((2 + int8_groups(k)) * width * 4, 64); }
};

// A row is `scale` times integers; `inverse` is 1 / scale, or 0 for a row of zeros.
struct Int8Scale {
  float scale, inverse;
};

inline Int8Scale int8_scale(const float* x, int64_t k) {
  constexpr float kLeast = 1e-30f;
  float largest = 0, nan_unless_finite = 0;
#pragma omp simd reduction(max : largest) reduction(+ : nan_unless_finite)
  for (int64_t p = 0; p < k; ++p) {
    largest = std::max(largest, std::abs(x[p]));
    nan_unless_finite += 0 * x[p];
  }
  return {largest / 127 + nan_unless_finite, largest > kLeast ? 127 / largest : 0};
}

// Packs a row as elements to[g * stride]. The bytes are q, exclusive-or'ed with those of `offset`. Returns the sum of
// q.
inline int32_t pack_int8_row(uint32_t* to, int64_t stride, const float* x, int64_t k, float inverse, uint32_t offset) {
  constexpr int64_t kPart = 256;
  alignas(64) int8_t part[kPart];
  int32_t sum = 0;
  for (int64_t begin = 0; begin < k; begin += kPart) {
    const int64_t count = std::min(kPart, k - begin);
#pragma omp simd reduction(+ : sum)
    for (int64_t p = 0; p < count; ++p) {
      const float scaled = x[begin + p] * inverse, above = scaled > -127.0f ? scaled : -127.0f;  // NaN becomes -127
      const auto q = int32_t(std::rint(above < 127.0f ? above : 127.0f));
      part[p] = int8_t(q);
      sum += q;
    }
    for (int64_t p = count; p % kInt8Group != 0; ++p) part[p] = 0;
    for (int64_t g = 0; g < int8_groups(count); ++g, to += stride) {
      uint32_t element;
      std::memcpy(&element, part + g * kInt8Group, sizeof element);
      *to = element ^ offset;
    }
  }
  return sum;
}

// Packs rows `first` and after of x(n, k); those beyond the last one become zeros.
inline void pack_int8_rows(Int8Rows to, const float* x, int64_t n, int64_t k, int64_t first) {
  for (int64_t i = 0; i < kTileRows; ++i) {
    const bool inside = first + i < n;
    const float* row = x + (first + i) * k;
    const Int8Scale scale = inside ? int8_scale(row, k) : Int8Scale{0, 0};
    to.scales[i] = scale.scale;
    if (inside) {
      pack_int8_row(to.elements + i, kTileRows, row, k, scale.inverse, kInt8Offset);
    } else {
      for (int64_t g = 0; g < int8_groups(k); ++g) to.elements[g * kTileRows + i] = 0;
    }
  }
}

inline void pack_int8_columns(Int8Columns to, const float* w, int64_t n, int64_t k, int64_t first) {
  for (int64_t j = 0; j < Int8Columns::width; ++j) {
    const bool inside = first + j < n;
    const float* row = w + (first + j) * k;
    const Int8Scale scale = inside ? int8_scale(row, k) : Int8Scale{0, 0};
    to.scales[j] = scale.scale;
    to.offsets[j] = 0;
    if (inside) {
      to.offsets[j] = -128 * pack_int8_row(to.elements + j, Int8Columns::width, row, k, scale.inverse, 0);
    } else {
      for (int64_t g = 0; g < int8_groups(k); ++g) to.elements[g * Int8Columns::width + j] = 0;
    }
  }
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
