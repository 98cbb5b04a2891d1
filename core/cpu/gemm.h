// Matrix products have one door: C(m,n) = [C +] A(m,k) B(k,n), with operands of type T (f32, f64, or bf16 with sums in
// fp32).
//
// Why not a BLAS call: OpenBLAS's threads change the bits of a product, single-threaded calls on parts of C pack the
// same operand again and again (a training step's products ran at 75-80 % of its rate for large squares), and a call
// returns when C has left the cache.
#pragma once

#include <functional>

#include "core/cpu/parallel.h"

namespace gyre::GYRE_CPU_NAMESPACE {

// Element (i, p), i the free index and p the summed one: data[i * stride + p], or data[p * stride + i] when
// summed_major.
struct Operand {
  const void* data;
  DType dtype;
  int64_t stride;
  bool summed_major;
};

struct ProductShape {
  int64_t m, n, k;
};

// Rows and columns of C.
struct Block {
  int64_t row, rows, column, columns;
};

// Where the sums go: into C itself, or, without one, into scratch memory that only `finish` sees.
template <class T>
struct Sums {
  Compute<T>* c = nullptr;
  int64_t ldc = 0;
  bool accumulate = false;
};

// Called once for every block of C, from any thread, when its sums are complete and still in cache: bias, activation,
// dropout and the rounding to bf16 are no passes over memory of their own. ld: the leading dimension of the sums.
template <class T>
using Finish = std::function<void(const Compute<T>* sums, int64_t ld, const Block& block)>;

// T: float, double, bfloat16
template <class T>
void gemm(const ProductShape& shape, const Operand& a, const Operand& b, const Sums<T>& sums,
          const Finish<T>& finish = {});

}  // namespace gyre::GYRE_CPU_NAMESPACE
