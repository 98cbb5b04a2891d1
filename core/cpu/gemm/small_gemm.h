// Products of small matrices that fit into the cache, such as one head of one sequence. For these, the overhead of
// gemm() or a BLAS call would exceed the product itself. Uses vectors of the register size (core/cpu/vector_type.h).
#pragma once

#include <algorithm>
#include <cstdint>

#include "gyre/core/cpu/gemm/small_gemm_block.h"
#include "gyre/core/cpu/gemm/tile_rows.h"

namespace gyre::GYRE_CPU_NAMESPACE {

// multiply_block() for up to Rows rows, with the smallest even block size that holds `rows`.
template <class T, int Vectors, bool transposed, int Rows = kTileRows>
void multiply_rows(int64_t rows, Chunks<SumOf<T>> c, Chunks<const T> a, Chunks<const T> b, int64_t k, bool accumulate) {
  if constexpr (Rows > 2) {
    if (rows <= Rows - 2) return multiply_rows<T, Vectors, transposed, Rows - 2>(rows, c, a, b, k, accumulate);
  }
  multiply_block<T, Rows, Vectors, transposed>(c, a, b, k, accumulate);
}

// Calls f(first, count) for `rows` rows from `begin` on, in blocks of nearly equal size.
template <class F>
void for_each_block(int64_t begin, int64_t rows, const F& f) {
  const int64_t blocks = (rows + kTileRows - 1) / kTileRows;
  const int64_t size = blocks > 0 ? round_up((rows + blocks - 1) / blocks, 2) : 0;
  for (int64_t i = 0; i < rows; i += size) f(begin + i, std::min(size, rows - i));
}

// C(m,n) = [C +] A(m,k) B(k,n), or, if `transposed`, A(k,m)^T B(k,n). n is given in whole chunks. If m is odd, row m of
// C may be overwritten. The factors may be pairs of bf16, neighbors along the summed index: then k is their number.
template <bool transposed, class T>
void multiply(Tile<SumOf<T>> c, Tile<T> a, Tile<T> b, int64_t m, int64_t chunks, int64_t k, bool accumulate) {
  constexpr int64_t lanes = kLanes<T>;
  for (int64_t chunk = 0; chunk < chunks; chunk += 2) {
    const Chunks<const T> right{b.at(0, chunk), b.chunk_elements()};
    const auto block = [&](int64_t i, int64_t rows) {
      const Chunks<SumOf<T>> to{c.at(i, chunk), c.chunk_elements()};
      const Chunks<const T> left{transposed ? a.at(0, i / lanes) + i % lanes : a.at(i, 0), a.chunk_elements()};
      if (chunk + 1 < chunks) {
        multiply_rows<T, 2, transposed>(rows, to, left, right, k, accumulate);
      } else {
        multiply_rows<T, 1, transposed>(rows, to, left, right, k, accumulate);
      }
    };
    if constexpr (transposed) {
      for (int64_t i = 0; i < m; i += lanes) for_each_block(i, std::min(lanes, m - i), block);
    } else {
      for_each_block(0, m, block);
    }
  }
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
