// Blocks of the CUDA kernels that sum the columns of a matrix, for the kernels (core/cuda/columns.h) and for the
// virtual GPU (core/virtual_gpu).
#pragma once

#include <bit>
#include <cstdint>

namespace gyre {

// There are `rows` times `columns` blocks of `across` times `down` threads. A thread sums at most `rows_each` rows.
struct ColumnBlocks {
  int64_t rows, columns;
  int64_t across, down;
  int64_t rows_each;
};

// The blocks for a matrix whose rows have `packs` packs of neighboring columns, each of one thread. They depend only on
// the shape of the matrix, so that the order of sums is fixed.
constexpr ColumnBlocks column_blocks(int64_t rows, int64_t packs) {
  constexpr int64_t kThreads = 256, kWarp = 32, kManyBlocks = 1024;
  const auto divide_up = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
  if (rows == 0 || packs == 0) return {0, 1, 1, 1, 1};
  const int64_t columns = divide_up(packs, kThreads), each = divide_up(packs, columns);
  const int64_t across = each < kWarp ? int64_t(std::bit_ceil(uint64_t(each))) : divide_up(each, kWarp) * kWarp;
  const int64_t down = kThreads / across;
  int64_t rows_each = 32;
  while (rows_each > 4 && divide_up(rows, down * rows_each) * columns < kManyBlocks) rows_each /= 2;
  return {divide_up(rows, down * rows_each), columns, across, down, rows_each};
}

}  // namespace gyre
