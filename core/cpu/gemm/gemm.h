// General matrix product (GEMM), used for all large products: C(m,n) = [C +] A(m,k) B(k,n), with operands of type T
// (f32, f64, or bf16 with sums in fp32).
//
// Reasons not to call a BLAS on x86-64: the result of OpenBLAS depends on its number of threads. Single-threaded calls
// on parts of C pack the same operand repeatedly; with them, the products of a training step ran at 75-80 % of the rate
// of large square products. When a call returns, C is no longer in the cache for a fused epilogue. On other CPUs, for
// which the tile sizes are not tuned, f32 and f64 products do make such calls (blas_product.h).
#pragma once

#include <functional>

#include "gyre/core/cpu/parallel.h"

namespace gyre::GYRE_CPU_NAMESPACE {

// A matrix operand. With i the free (row or column) index and p the summed index, element (i, p) is
// data[i * stride + p], or data[p * stride + i] if summed_major. Each row in memory must have `stride` readable
// elements.
struct Operand {
  const void* data;
  DType dtype;
  int64_t stride;
  bool summed_major;
};

struct ProductShape {
  int64_t m, n, k;
};

// A block of C: the first row, the number of rows, and the same for columns.
struct Block {
  int64_t row, rows, column, columns;
};

// Destination of the sums: C, or, if c is null, scratch memory that only `finish` reads.
template <class T>
struct Sums {
  Compute<T>* c = nullptr;
  int64_t ldc = 0;          // leading dimension of C
  bool accumulate = false;  // C += A B
  // Computes C on and below the diagonal. Tiles above it may be left out. Only with C, and without `finish`.
  bool lower_triangle = false;
};

// Epilogue: called once for each block of C, from any thread, when its sums are complete and still in the cache. Bias,
// activation, dropout and rounding to bf16 thus need no separate pass over memory. ld: leading dimension of the sums.
template <class T>
using Finish = std::function<void(const Compute<T>* sums, int64_t ld, const Block& block)>;

// Computes the product. T is float, double or bfloat16.
template <class T>
void gemm(const ProductShape& shape, const Operand& a, const Operand& b, const Sums<T>& sums,
          const Finish<T>& finish = {});

}  // namespace gyre::GYRE_CPU_NAMESPACE
