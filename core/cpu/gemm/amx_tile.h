// The inner kernel of bf16 products on CPUs with Intel AMX (AMX-TILE and AMX-BF16): tiles of 32 x 32 sums in four of
// the eight tile registers. An instruction multiplies 16 rows of 32 bf16 numbers by 32 x 16.
//
// TDPBF16PS sums even and odd summed indices of a chunk of 32 separately, then adds both to C (Intel SDM volume 2).
// Products have therefore other roundings than those of AVX512-BF16, but the same bits on any CPU with AMX, and for any
// number of threads.
#pragma once

#if __AVX512F__
#include <immintrin.h>

#include <atomic>
#include <cstring>

#include "gyre/core/cpu/gemm/gemm_pack.h"
#include "gyre/core/kernels/amx.h"

namespace gyre::GYRE_CPU_NAMESPACE {

// The parameters of gemm() for these tiles; see RegisterTile.
struct AmxTile {
  using Element = bfloat16;
  static constexpr int kRows = 32, kColumns = 32;
  // A job of rows multiplies each panel of B by all of its panels of A, which stay in the second-level cache. A job of
  // columns would read all of A for each panel of B, which cannot keep up with the instruction.
  static constexpr double kRowsPerColumn = 0.5;
  static constexpr int64_t kPairs = 16;              // pairs per chunk, the summed range of one instruction
  static constexpr int64_t kHalf = 16 * kPairs;      // packed elements of one tile register
  static constexpr int64_t kChunk = kRows * kPairs;  // packed elements of a chunk, of both operands

  // Packed elements per free index: whole chunks, padded with zeros.
  static int64_t packed(int64_t summed) { return round_up((summed + 1) / 2, kPairs); }

  // Lets a thread use the tile registers.
  class Scope {
   public:
    [[gnu::target("amx-tile")]] Scope() { _tile_loadconfig(&kAmxTileShapes); }
    [[gnu::target("amx-tile")]] ~Scope() { _tile_release(); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
  };

  // Panels of columns: for each pair of summed indices, 32 contiguous elements.
  static void pack_columns(uint32_t* to, const Operand& b, int64_t size, int64_t begin, int64_t count,
                           int64_t summed_begin, int64_t summed) {
    const int64_t panel = kColumns * packed(summed), filled = kColumns * ((summed + 1) / 2);
    pack_panels<bfloat16, kColumns>(to, panel, b, size, begin, count, summed_begin, summed);
    for (int64_t i = 0; i < count; ++i) std::fill_n(to + i * panel + filled, panel - filled, 0u);
  }

  // Panels of rows: for each chunk, two tiles of 16 rows with 16 contiguous pairs each.
  static void pack_rows(uint32_t* to, const Operand& a, int64_t size, int64_t begin, int64_t count,
                        int64_t summed_begin, int64_t summed) {
    const int64_t panel = kRows * packed(summed);
    for (int64_t i = 0; i < count; ++i, to += panel) {
      for (int64_t p = 0; p < summed; p += 2 * kPairs) {
        pack_chunk(to + p / (2 * kPairs) * kChunk, a, size, begin + i, summed_begin + p,
                   std::min(2 * kPairs, summed - p));
      }
    }
  }

  // C(rows, columns) = [C +] A B from packed panels; at most 32 x 32.
  static void multiply(float* c, int64_t ldc, int64_t rows, int64_t columns, const uint32_t* a, const uint32_t* b,
                       int64_t elements, bool accumulate) {
    const int64_t chunks = elements / kPairs;
    if (rows == kRows && columns == kColumns) return multiply_tile<2>(c, ldc, a, b, chunks, accumulate);
    alignas(64) float tile[kRows][kColumns] = {};
    for (int64_t i = 0; accumulate && i < rows; ++i) std::copy_n(c + i * ldc, columns, tile[i]);
    if (rows > kRows / 2) {
      multiply_tile<2>(tile[0], kColumns, a, b, chunks, accumulate);
    } else {
      multiply_tile<1>(tile[0], kColumns, a, b, chunks, accumulate);
    }
    for (int64_t i = 0; i < rows; ++i) std::copy_n(tile[i], columns, c + i * ldc);
  }

 private:
  // Packs one chunk of one panel of rows.
  static void pack_chunk(uint32_t* to, const Operand& a, int64_t size, int64_t panel, int64_t summed_begin,
                         int64_t summed) {
    const bool whole = summed == 2 * kPairs && size - panel * kRows >= kRows;
    if (!a.summed_major && whole) {
      const int64_t from = panel * kRows * a.stride + summed_begin;
      return dispatch_source<bfloat16>(a.dtype, [&]<class Rounding, class Source>(Rounding, Source) {
        copy_rows<Rounding>(to, static_cast<const Source*>(a.data) + from, a.stride);
      });
    }
    alignas(64) uint32_t by_pair[kChunk] = {};
    pack_panels<bfloat16, kRows>(by_pair, kChunk, a, size, panel, 1, summed_begin, summed);
    for (int64_t half = 0; half < kRows; half += 16) {
      VectorOf<uint32_t>::type pairs[kPairs];
      GYRE_UNROLL
      for (int64_t p = 0; p < kPairs; ++p) std::memcpy(&pairs[p], by_pair + p * kRows + half, sizeof pairs[p]);
      transpose<uint32_t>(pairs);
      std::memcpy(to + half * kPairs, pairs, sizeof pairs);
    }
  }

  // The pairs of a row are contiguous in the source as well.
  template <class Rounding, class Source>
  static void copy_rows(uint32_t* to, const Source* from, int64_t stride) {
    for (int64_t i = 0; i < kRows; ++i) {
      store_first<uint32_t, kPairs>(to + i * kPairs, load_neighbors<bfloat16, Rounding>(from + i * stride));
    }
  }

  // C(16 * Halves, 32) = [C +] A B. Tile registers 0 to 3 hold the sums, 4 and 5 rows of A, 6 and 7 columns of B.
  template <int Halves>
  [[gnu::target("amx-tile,amx-bf16")]] static void multiply_tile(float* c, int64_t ldc, const uint32_t* a,
                                                                 const uint32_t* b, int64_t chunks, bool accumulate) {
    const int64_t c_row = ldc * int64_t(sizeof(float));
    float* const lower = c + 16 * ldc;
    constexpr int64_t a_row = kPairs * sizeof(uint32_t), b_row = kColumns * sizeof(uint32_t);
    // The tile loads of GCC 12 do not tell the compiler that they read memory.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (accumulate) {
      _tile_loadd(0, c, c_row);
      _tile_loadd(1, c + 16, c_row);
      if constexpr (Halves == 2) _tile_loadd(2, lower, c_row);
      if constexpr (Halves == 2) _tile_loadd(3, lower + 16, c_row);
    } else {
      _tile_zero(0);
      _tile_zero(1);
      _tile_zero(2);
      _tile_zero(3);
    }
    for (int64_t i = 0; i < chunks; ++i, a += kChunk, b += kChunk) {
      _tile_loadd(4, a, a_row);
      _tile_loadd(6, b, b_row);
      _tile_loadd(7, b + 16, b_row);
      _tile_dpbf16ps(0, 4, 6);
      _tile_dpbf16ps(1, 4, 7);
      if constexpr (Halves == 2) _tile_loadd(5, a + kHalf, a_row);
      if constexpr (Halves == 2) _tile_dpbf16ps(2, 5, 6);
      if constexpr (Halves == 2) _tile_dpbf16ps(3, 5, 7);
    }
    _tile_stored(0, c, c_row);
    _tile_stored(1, c + 16, c_row);
    if constexpr (Halves == 2) _tile_stored(2, lower, c_row);
    if constexpr (Halves == 2) _tile_stored(3, lower + 16, c_row);
  }
};

}  // namespace gyre::GYRE_CPU_NAMESPACE
#endif
