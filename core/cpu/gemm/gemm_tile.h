// The inner kernel of gemm(): computes one tile of C with all sums in registers. Each sum runs over the summed index in
// order, independently of the tile size, the vector size and the threads. Therefore a product has the same bits on any
// CPU with fused multiply-add.
#pragma once

#ifdef __AVX512F__
#include <immintrin.h>
#endif
#ifdef __ARM_FEATURE_BF16_VECTOR_ARITHMETIC
#include <arm_neon.h>
#endif

#include "gyre/core/cpu/gemm/bf16_dot.h"
#include "gyre/core/cpu/gemm/gemm_pack.h"
#include "gyre/core/cpu/gemm/tile_rows.h"

namespace gyre::GYRE_CPU_NAMESPACE {

template <class T>
constexpr int kTileColumns = int(2 * kLanes<Compute<T>>);

template <class T>
using SumVector = typename VectorOf<Compute<T>>::type;

// c = [c +] sums. Always inlined, so that the sums stay in registers.
template <class T, int Rows>
[[gnu::always_inline]] inline void store_tile(Compute<T>* c, int64_t ldc, const SumVector<T> (&sums)[Rows][2],
                                              bool accumulate) {
  GYRE_UNROLL
  for (int i = 0; i < Rows; ++i) {
    auto* row = reinterpret_cast<SumVector<T>*>(c + i * ldc);
    row[0] = accumulate ? row[0] + sums[i][0] : sums[i][0];
    row[1] = accumulate ? row[1] + sums[i][1] : sums[i][1];
  }
}

// C(Rows, kTileColumns) = [C +] A B from panels of `elements` packed elements.
template <class T, int Rows>
void multiply_tile(Compute<T>* c, int64_t ldc, const T* a, const T* b, int64_t elements, bool accumulate) {
  SumVector<T> sums[Rows][2] = {};
  for (int64_t p = 0; p < elements; ++p, a += kTileRows, b += kTileColumns<T>) {
    const SumVector<T> b0 = reinterpret_cast<const SumVector<T>*>(b)[0],
                       b1 = reinterpret_cast<const SumVector<T>*>(b)[1];
    GYRE_UNROLL
    for (int i = 0; i < Rows; ++i) {
      sums[i][0] += a[i] * b0;
      sums[i][1] += a[i] * b1;
    }
  }
  store_tile<T, Rows>(c, ldc, sums, accumulate);
}

#ifdef __AVX512F__
// The bf16 version: each step adds the products of two neighbors along the summed index. Requires AVX512-BF16.
template <class T, int Rows>
[[gnu::target("avx512bf16")]] void multiply_tile_by_dot_products(float* c, int64_t ldc, const uint32_t* a,
                                                                 const uint32_t* b, int64_t elements, bool accumulate) {
  SumVector<T> sums[Rows][2] = {};
  for (int64_t p = 0; p < elements; ++p, a += kTileRows, b += kTileColumns<T>) {
    const auto b0 = (__m512bh)_mm512_loadu_si512(b), b1 = (__m512bh)_mm512_loadu_si512(b + 16);
    GYRE_UNROLL
    for (int i = 0; i < Rows; ++i) {
      const auto left = (__m512bh)_mm512_set1_epi32(int(a[i]));
      sums[i][0] = _mm512_dpbf16_ps(sums[i][0], left, b0);
      sums[i][1] = _mm512_dpbf16_ps(sums[i][1], left, b1);
    }
  }
  store_tile<T, Rows>(c, ldc, sums, accumulate);
}
#endif

#ifdef __ARM_FEATURE_BF16_VECTOR_ARITHMETIC
// Four neighbors along the summed index, of rows (or columns) 0 and 1 (`low`) and of 2 and 3 (`high`): operands of
// BFMMLA.
struct FourRows {
  bfloat16x8_t low, high;
};
inline FourRows four_rows(uint32x4_t first, uint32x4_t second) {
  return {vreinterpretq_bf16_u32(vzip1q_u32(first, second)), vreinterpretq_bf16_u32(vzip2q_u32(first, second))};
}

// squares[i][j] += the products of one packed element, or of two neighbors, of rows 2i, 2i + 1 and columns 2j, 2j + 1.
template <class T, int Rows, bool two>
inline void add_matrix_products(float32x4_t (&squares)[Rows / 2][4], const uint32_t* a, const uint32_t* b) {
  static_assert(Rows % 4 == 0 && kTileColumns<T> == 8);
  const auto load = [](const uint32_t* from, int64_t next) {
    return four_rows(vld1q_u32(from), two ? vld1q_u32(from + next) : vdupq_n_u32(0));
  };
  const FourRows first = load(b, kTileColumns<T>), last = load(b + 4, kTileColumns<T>);
  GYRE_UNROLL
  for (int i = 0; i < Rows; i += 4) {
    const FourRows rows = load(a + i, kTileRows);
    GYRE_UNROLL
    for (int half = 0; half < 2; ++half) {
      float32x4_t(&sums)[4] = squares[i / 2 + half];
      const bfloat16x8_t left = half ? rows.high : rows.low;
      sums[0] = vbfmmlaq_f32(sums[0], left, first.low);
      sums[1] = vbfmmlaq_f32(sums[1], left, first.high);
      sums[2] = vbfmmlaq_f32(sums[2], left, last.low);
      sums[3] = vbfmmlaq_f32(sums[3], left, last.high);
    }
  }
}

// The bf16 version: BFMMLA multiplies 2 x 4 by 4 x 2 numbers, that is, it adds the products of two packed elements. The
// sums have the bits of two dot products of pairs (BFDOT).
template <class T, int Rows>
void multiply_tile_by_dot_products(float* c, int64_t ldc, const uint32_t* a, const uint32_t* b, int64_t elements,
                                   bool accumulate) {
  float32x4_t squares[Rows / 2][4] = {};
  for (; elements >= 2; elements -= 2, a += 2 * kTileRows, b += 2 * kTileColumns<T>) {
    add_matrix_products<T, Rows, true>(squares, a, b);
  }
  if (elements > 0) add_matrix_products<T, Rows, false>(squares, a, b);
  SumVector<T> sums[Rows][2];
  GYRE_UNROLL
  for (int i = 0; i < Rows; ++i) {
    GYRE_UNROLL
    for (int j = 0; j < 2; ++j) {
      const auto left = vreinterpretq_f64_f32(squares[i / 2][2 * j]),
                 right = vreinterpretq_f64_f32(squares[i / 2][2 * j + 1]);
      sums[i][j] = SumVector<T>(i % 2 ? vzip2q_f64(left, right) : vzip1q_f64(left, right));
    }
  }
  store_tile<T, Rows>(c, ldc, sums, accumulate);
}
#endif

// Dispatches bf16 tiles to the instruction or its emulation.
template <class T, int Rows>
void multiply_tile(float* c, int64_t ldc, const uint32_t* a, const uint32_t* b, int64_t elements, bool accumulate) {
#if defined(__AVX512F__) || defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
  if (!emulates_bf16()) return multiply_tile_by_dot_products<T, Rows>(c, ldc, a, b, elements, accumulate);
#endif
  SumVector<T> sums[Rows][2] = {};
  for (int64_t p = 0; p < elements; ++p, a += kTileRows, b += kTileColumns<T>) {
    for (int i = 0; i < Rows; ++i) {
      for (int j = 0; j < kTileColumns<T>; ++j) {
        float& sum = reinterpret_cast<float*>(sums[i])[j];
        sum = add_emulated_dot_product(sum, a[i], b[j]);
      }
    }
  }
  store_tile<T, Rows>(c, ldc, sums, accumulate);
}

// Computes a tile at the edge of C in a local buffer, and copies its valid part.
template <class T, int Rows>
void multiply_edge(Compute<T>* c, int64_t ldc, int64_t rows, int64_t columns, const Packed<T>* a, const Packed<T>* b,
                   int64_t elements, bool accumulate) {
  alignas(kVectorBytes) Compute<T> tile[Rows * kTileColumns<T>];
  multiply_tile<T, Rows>(tile, kTileColumns<T>, a, b, elements, false);
  for (int64_t i = 0; i < rows; ++i) {
    Compute<T>* to = c + i * ldc;
    const Compute<T>* from = tile + i * kTileColumns<T>;
    for (int64_t j = 0; j < columns; ++j) to[j] = accumulate ? to[j] + from[j] : from[j];
  }
}

// The parameters of gemm() for tiles in vector registers: the size of a tile, the packed panels, and the product.
template <class T>
struct RegisterTile {
  using Element = T;
  static constexpr int kRows = kTileRows, kColumns = kTileColumns<T>;
  // C is split into jobs of rows if it has at least this many rows per column, else into jobs of columns. If the sides
  // are similar, the columns are split: B holds the weights, which come from memory, and a job prefetches its next
  // panel of B while it multiplies.
  static constexpr double kRowsPerColumn = 2;

  // A thread needs no setup before it multiplies.
  struct Scope {};

  // Packed elements per free index.
  static int64_t packed(int64_t summed) { return packed_elements<T>(summed); }

  // Packs `count` panels of rows of A or columns of B.
  static void pack_rows(Packed<T>* to, const Operand& a, int64_t size, int64_t begin, int64_t count,
                        int64_t summed_begin, int64_t summed) {
    pack_panels<T, kRows>(to, kRows * packed(summed), a, size, begin, count, summed_begin, summed);
  }
  static void pack_columns(Packed<T>* to, const Operand& b, int64_t size, int64_t begin, int64_t count,
                           int64_t summed_begin, int64_t summed) {
    pack_panels<T, kColumns>(to, kColumns * packed(summed), b, size, begin, count, summed_begin, summed);
  }

  // C(rows, columns) = [C +] A B from packed panels; at most kRows x kColumns.
  static void multiply(Compute<T>* c, int64_t ldc, int64_t rows, int64_t columns, const Packed<T>* a,
                       const Packed<T>* b, int64_t elements, bool accumulate) {
    constexpr int third = kRows / 3;
    if (accumulate) {
      for (int64_t i = 0; i < rows; ++i) {
        __builtin_prefetch(c + i * ldc, 1);
        __builtin_prefetch(c + i * ldc + kLanes<Compute<T>>, 1);
      }
    }
    if (rows == kRows && columns == kColumns) {
      multiply_tile<T, kRows>(c, ldc, a, b, elements, accumulate);
    } else if (rows <= third) {
      multiply_edge<T, third>(c, ldc, rows, columns, a, b, elements, accumulate);
    } else if (rows <= 2 * third) {
      multiply_edge<T, 2 * third>(c, ldc, rows, columns, a, b, elements, accumulate);
    } else {
      multiply_edge<T, kRows>(c, ldc, rows, columns, a, b, elements, accumulate);
    }
  }
};

}  // namespace gyre::GYRE_CPU_NAMESPACE
