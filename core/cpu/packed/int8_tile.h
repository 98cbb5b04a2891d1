// The inner kernel of int8 products: one tile of sums in registers, by VPDPBUSD where the CPU has it. The sums are
// exact integers, so every way to compute them gives the same bits.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "gyre/core/cpu/packed/int8_panels.h"

namespace gyre::GYRE_CPU_NAMESPACE {

using Int8Sums = VectorOf<int32_t>::type;

// c(Rows, width) = sums, times the scales of their rows and columns
template <int Rows>
inline void store_int8_tile(float* c, int64_t ldc, const Int8Sums (&sums)[Rows][2], const Int8Rows& a,
                            const Int8Columns& b) {
  using V = VectorOf<float>::type;
  const auto* scales = reinterpret_cast<const V*>(b.scales);
  GYRE_UNROLL
  for (int i = 0; i < Rows; ++i) {
    auto* row = reinterpret_cast<V*>(c + i * ldc);
    row[0] = __builtin_convertvector(sums[i][0], V) * a.scales[i] * scales[0];
    row[1] = __builtin_convertvector(sums[i][1], V) * a.scales[i] * scales[1];
  }
}

// VPDPBUSD: adds the products of four unsigned bytes of `row` and four signed ones of `columns` to each sum.
#if defined(__AVX512F__)
#define GYRE_INT8_TARGET "avx512vnni"
[[gnu::target(GYRE_INT8_TARGET), gnu::always_inline]] inline Int8Sums add_int8_products(Int8Sums sums, Int8Sums row,
                                                                                        Int8Sums columns) {
  return (Int8Sums)_mm512_dpbusd_epi32((__m512i)sums, (__m512i)row, (__m512i)columns);
}
#elif defined(__AVX2__)
#define GYRE_INT8_TARGET "avxvnni"
[[gnu::target(GYRE_INT8_TARGET), gnu::always_inline]] inline Int8Sums add_int8_products(Int8Sums sums, Int8Sums row,
                                                                                        Int8Sums columns) {
  return (Int8Sums)_mm256_dpbusd_avx_epi32((__m256i)sums, (__m256i)row, (__m256i)columns);
}
#endif

#ifdef GYRE_INT8_TARGET
inline bool has_int8_instruction() { return __builtin_cpu_supports(GYRE_INT8_TARGET); }

template <int Rows>
[[gnu::target(GYRE_INT8_TARGET)]] void multiply_int8_vnni(float* c, int64_t ldc, const Int8Rows& a,
                                                          const Int8Columns& b, int64_t groups) {
  const auto* offsets = reinterpret_cast<const Int8Sums*>(b.offsets);
  Int8Sums sums[Rows][2];
  GYRE_UNROLL
  for (int i = 0; i < Rows; ++i) sums[i][0] = offsets[0], sums[i][1] = offsets[1];
  const uint32_t *left = a.elements, *right = b.elements;
  for (int64_t g = 0; g < groups; ++g, left += kTileRows, right += Int8Columns::width) {
    const auto* columns = reinterpret_cast<const Int8Sums*>(right);
    const Int8Sums b0 = columns[0], b1 = columns[1];
    GYRE_UNROLL
    for (int i = 0; i < Rows; ++i) {
      const Int8Sums row = Int8Sums{} + int32_t(left[i]);
      sums[i][0] = add_int8_products(sums[i][0], row, b0);
      sums[i][1] = add_int8_products(sums[i][1], row, b1);
    }
  }
  store_int8_tile<Rows>(c, ldc, sums, a, b);
}
#endif

// Without the instruction: the sum of the four products in each lane.
#if defined(__AVX2__) && !defined(__AVX512F__)
// The row without its signs times the columns with them. No sum of two products saturates: 2 * 127^2.
inline Int8Sums int8_products(Int8Sums row, Int8Sums columns) {
  const __m256i signed_columns = _mm256_sign_epi8((__m256i)columns, (__m256i)row);
  const __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8((__m256i)row), signed_columns);
  return (Int8Sums)_mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
}
#else
// In lanes of 16 bits, which hold the sum of two products, 2 * 127^2.
inline Int8Sums int8_products(Int8Sums row, Int8Sums columns) {
  using Pairs = VectorOf<int16_t>::type;
  const auto even = [](Int8Sums bytes) { return ((Pairs)bytes << 8) >> 8; };
  const auto odd = [](Int8Sums bytes) { return (Pairs)bytes >> 8; };
  const auto pairs = (Int8Sums)(even(row) * even(columns) + odd(row) * odd(columns));
  return ((pairs << 16) >> 16) + (pairs >> 16);
}
#endif

template <int Rows>
void multiply_int8_portably(float* c, int64_t ldc, const Int8Rows& a, const Int8Columns& b, int64_t groups) {
  Int8Sums sums[Rows][2] = {};
  const uint32_t *left = a.elements, *right = b.elements;
  for (int64_t g = 0; g < groups; ++g, left += kTileRows, right += Int8Columns::width) {
    const auto* columns = reinterpret_cast<const Int8Sums*>(right);
    GYRE_UNROLL
    for (int i = 0; i < Rows; ++i) {
      const Int8Sums row = Int8Sums{} + int32_t(left[i] ^ kInt8Offset);
      sums[i][0] += int8_products(row, columns[0]);
      sums[i][1] += int8_products(row, columns[1]);
    }
  }
  store_int8_tile<Rows>(c, ldc, sums, a, b);
}

template <int Rows>
void multiply_int8_tile(float* c, int64_t ldc, const Int8Rows& a, const Int8Columns& b, int64_t groups) {
#ifdef GYRE_INT8_TARGET
  if (has_int8_instruction()) return multiply_int8_vnni<Rows>(c, ldc, a, b, groups);
#endif
  multiply_int8_portably<Rows>(c, ldc, a, b, groups);
}

// The next smaller tile.
constexpr int smaller_int8_tile(int rows) { return rows > 8 ? 8 : rows > 4 ? 4 : rows / 2; }

// c(rows, columns) from packed panels; at most kTileRows x width.
template <int Rows = kTileRows>
void multiply_int8_panels(float* c, int64_t ldc, int64_t rows, int64_t columns, const Int8Rows& a, const Int8Columns& b,
                          int64_t groups) {
  if constexpr (Rows > 1) {
    constexpr int smaller = smaller_int8_tile(Rows);
    if (rows <= smaller) return multiply_int8_panels<smaller>(c, ldc, rows, columns, a, b, groups);
  }
  if (rows == Rows && columns == Int8Columns::width) return multiply_int8_tile<Rows>(c, ldc, a, b, groups);
  alignas(kVectorBytes) float tile[Rows * Int8Columns::width];
  multiply_int8_tile<Rows>(tile, Int8Columns::width, a, b, groups);
  for (int64_t i = 0; i < rows; ++i) std::copy_n(tile + i * Int8Columns::width, columns, c + i * ldc);
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
