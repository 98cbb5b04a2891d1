// The operands of the products of attention, in the type that they are multiplied in: pairs of bf16, neighbors along
// the summed index, which are rounded from fp32 tiles; fp32 and fp64 as they are.
#pragma once

#include "gyre/core/cpu/attention/attention_head.h"
#include "gyre/core/cpu/bf16_pairs.h"

namespace gyre::GYRE_CPU_NAMESPACE {

// Workspace for the operand that is packed from one tile of at most `rows` x `columns`. D is the type of the tensors.
template <class D>
class PackedOperand {
 public:
  using T = Compute<D>;
  static constexpr bool kPairs = kSummedPerElement<D> == 2;

  static PackedOperand for_sums_over_columns(TileMemory<T>& memory, int64_t rows, int64_t columns) {
    return PackedOperand(memory, rows, packed_elements<D>(columns));
  }
  static PackedOperand for_sums_over_rows(TileMemory<T>& memory, int64_t rows, int64_t columns) {
    return PackedOperand(memory, packed_elements<D>(rows), columns);
  }

  // Packs x(rows, columns) as an operand for sums over its columns: (rows, packed_elements<D>(columns)).
  Tile<Packed<D>> pack_for_column_sums(Tile<T> x, int64_t rows, int64_t columns) const {
    if constexpr (kPairs) {
      const int64_t chunks = chunks_of<T>(columns);
      for (int64_t chunk = 0; chunk < chunks; chunk += 2) {
        for (int64_t i = 0; i < rows; ++i) {
          const Vector second = chunk + 1 < chunks ? x.vector(i, chunk + 1) : Vector{};
          pairs_.vector(i, chunk / 2) = round_neighbors(x.vector(i, chunk), second);
        }
      }
      for (int64_t i = 0; columns % 2 == 1 && i < rows; ++i) pairs_.element(i, columns / 2) &= 0xFFFF;
    }
    return packed(x);
  }

  // Packs x(rows, columns) as an operand for sums over its rows: (packed_elements<D>(rows), columns).
  Tile<Packed<D>> pack_for_row_sums(Tile<T> x, int64_t rows, int64_t columns) const {
    if constexpr (kPairs) {
      for (int64_t chunk = 0; chunk < chunks_of<T>(columns); ++chunk) {
        for (int64_t i = 0; i < rows; i += 2) {
          const Vector second = i + 1 < rows ? x.vector(i + 1, chunk) : Vector{};
          pairs_.vector(i / 2, chunk) = round_pairs(x.vector(i, chunk), second);
        }
      }
    }
    return packed(x);
  }

  // The operand that was packed last, which must be that of x.
  Tile<Packed<D>> packed(Tile<T> x) const {
    if constexpr (kPairs) {
      return pairs_;
    } else {
      return x;
    }
  }

 private:
  using Vector = typename Tile<T>::Vector;

  PackedOperand(TileMemory<T>& memory, int64_t rows, int64_t columns) {
    if constexpr (kPairs) pairs_ = memory.template take<Packed<D>>(rows, columns);
  }

  Tile<Packed<D>> pairs_;
};

// The transposed operand of a block of queries, or of the gradients of their outputs, for sums over features.
template <class D>
class TransposedOperand {
 public:
  using T = Compute<D>;

  TransposedOperand(TileMemory<T>& memory, int64_t width)
      : operand_(PackedOperand<D>::for_sums_over_columns(memory, kQueryBlock<T>, width)),
        transposed_(memory.template take<Packed<D>>(round_up(packed_elements<D>(width), kLanes<T>), kQueryBlock<T>)) {
    if constexpr (PackedOperand<D>::kPairs) exact_ = memory.take(round_up(width, kLanes<T>), kQueryBlock<T>);
  }

  // x(count, width). with_exact: whether the result of exact() will be read.
  void load(Tile<T> x, int64_t count, int64_t width, bool with_exact) const {
    transpose_tile(transposed_, operand_.pack_for_column_sums(x, count, width), count, packed_elements<D>(width));
    if constexpr (PackedOperand<D>::kPairs) {
      if (with_exact) transpose_tile(exact_, x, count, width);
    }
  }
  Tile<Packed<D>> get() const { return transposed_; }  // (packed_elements<D>(width), count)
  Tile<T> exact() const {                              // (width, count), not rounded
    if constexpr (PackedOperand<D>::kPairs) {
      return exact_;
    } else {
      return transposed_;
    }
  }

 private:
  PackedOperand<D> operand_;
  Tile<Packed<D>> transposed_;
  Tile<T> exact_;  // empty unless the operand has pairs
};

// The operand of pack_for_row_sums() from row `first` of their tile on. `first` must be even.
template <class D>
Tile<Packed<D>> summed_from(Tile<Packed<D>> operand, int64_t first) {
  return rows_from(operand, first / kSummedPerElement<D>);
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
