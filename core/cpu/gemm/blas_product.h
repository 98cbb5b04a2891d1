// gemm() by OpenBLAS, for CPUs on which the tile of gemm_tile.h is not tuned. Each thread multiplies whole blocks of C
// with single-threaded calls. The blocks depend only on the shape, so the result does not depend on the number of
// threads, and `finish` reads a block while it is in the cache.
#pragma once

#include <omp.h>

#include <algorithm>

#include "gyre/core/cpu/gemm/gemm.h"
#include "gyre/core/hardware/blas.h"
#include "gyre/core/memory.h"

namespace gyre::GYRE_CPU_NAMESPACE {

// Rows and columns of a block: 256, so that its sums fit into a second-level cache of 1 MB and packing, which OpenBLAS
// repeats for each block, stays cheap; fewer if C has too few blocks for the threads of a large CPU.
inline int64_t blas_block_size(int64_t m, int64_t n) {
  constexpr int64_t kLargest = 256, kSmallest = 64, kEnoughBlocks = 64;
  int64_t size = kLargest;
  while (size > kSmallest && ((m + size - 1) / size) * ((n + size - 1) / size) < kEnoughBlocks) size /= 2;
  return size;
}

// The part of an operand that begins at free index `first`.
template <class T>
BlasOperand<T> operand_from(const Operand& operand, int64_t first, bool is_left) {
  const T* data = static_cast<const T*>(operand.data);
  return {data + first * (operand.summed_major ? 1 : operand.stride), std::max<int64_t>(1, operand.stride),
          operand.summed_major == is_left};
}

template <class T>
void blas_product(const ProductShape& shape, const Operand& a, const Operand& b, const Sums<T>& sums,
                  const Finish<T>& finish) {
  constexpr int64_t kWorthThreads = 1 << 19;            // multiply-adds
  const int64_t m = shape.m, n = shape.n, k = shape.k;  // Clang cannot capture structured bindings in OpenMP regions
  const int64_t size = blas_block_size(m, n), rows = (m + size - 1) / size, columns = (n + size - 1) / size;
  const int threads = m * n * k > kWorthThreads && !omp_in_parallel() ? omp_get_max_threads() : 1;
  const auto place = sums.c ? nullptr : allocate(size_t(threads * size * size) * sizeof(T));
#pragma omp parallel num_threads(threads)
  {
    omp_set_num_threads(1);  // limit for OpenBLAS, in this region only
    T* const own = static_cast<T*>(place.get()) + (sums.c ? 0 : omp_get_thread_num() * size * size);
#pragma omp for schedule(dynamic)
    for (int64_t i = 0; i < rows * columns; ++i) {
      const int64_t row = i / columns * size, column = i % columns * size;
      const Block block{row, std::min(size, m - row), column, std::min(size, n - column)};
      if (sums.lower_triangle && row + block.rows <= column) continue;
      T* const c = sums.c ? sums.c + row * sums.ldc + column : own;
      const int64_t ldc = sums.c ? sums.ldc : size;
      blas_gemm(block.rows, block.columns, k, operand_from<T>(a, row, true), operand_from<T>(b, column, false), c, ldc,
                sums.accumulate);
      if (finish) finish(c, ldc, block);
    }
  }
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
