// Matrix products of a linear layer, y = x w^T, dx = dy w, dw += dy^T x, and sums over rows.
#pragma once

#include <vector>

#include "gyre/core/cpu/gemm/gemm.h"

namespace gyre::GYRE_CPU_NAMESPACE {

inline Operand rows(const Tensor& t) { return {t.raw(), t.dtype(), t.cols(), false}; }    // summed over the columns
inline Operand columns(const Tensor& t) { return {t.raw(), t.dtype(), t.cols(), true}; }  // summed over the rows

// C = f(A B): f(to, sums, row, column, n) computes n elements of C, of type Out, from their sums. In place for f32,
// f64. C may have more than shape.n columns: the others are not touched.
template <class T, class Out = T, class F>
void product_rows(const Tensor& c, const ProductShape& shape, const Operand& a, const Operand& b, F&& f) {
  using S = Compute<T>;
  Out* out = c.data<Out>();
  const Sums<T> in_place{std::is_same_v<Out, S> ? reinterpret_cast<S*>(out) : nullptr, c.cols(), false};
  gemm<T>(shape, a, b, in_place, [&](const S* sums, int64_t ld, const Block& block) {
    for (int64_t i = 0; i < block.rows; ++i) {
      const int64_t row = block.row + i;
      f(out + row * c.cols() + block.column, sums + i * ld, row, block.column, block.columns);
    }
  });
}

// C = A B. C has the type of the sums, or type T, to which the sums are rounded.
template <class T>
void product(const Tensor& c, const ProductShape& shape, const Operand& a, const Operand& b) {
  using S = Compute<T>;
  if (c.dtype() == dtype_of<S>()) return gemm<T>(shape, a, b, {c.data<S>(), c.cols(), false});
  product_rows<T>(c, shape, a, b, [](T* to, const S* sums, int64_t, int64_t, int64_t n) {
#pragma omp simd
    for (int64_t j = 0; j < n; ++j) to[j] = sums[j];
  });
}

// C = before + A B, with A B rounded first; C may be `before`. All have type T and the shape of the product.
template <class T>
void add_product(const Tensor& c, const Tensor& before, const ProductShape& shape, const Operand& a, const Operand& b) {
  using S = Compute<T>;
  gemm<T>(shape, a, b, {}, [&, to = c.data<T>(), from = before.data<T>()](const S* sums, int64_t ld, const Block& at) {
    for (int64_t i = 0; i < at.rows; ++i) {
      const int64_t first = (at.row + i) * shape.n + at.column;
#pragma omp simd
      for (int64_t j = 0; j < at.columns; ++j) to[first + j] = S(from[first + j]) + S(T(sums[i * ld + j]));
    }
  });
}

// dx = dx_before + dy w;  dw += dy^T x. An undefined dx or dw is not computed; dx_before may be undefined.
template <class T>
void product_backward(const Tensor& dx, const Tensor& dw, const Tensor& dy, const Tensor& x, const Tensor& w,
                      const Tensor& dx_before) {
  const int64_t n = x.rows(), d = x.cols(), o = w.dim(0);
  const ProductShape shape{n, d, o};
  if (dx && dx_before) {
    add_product<T>(dx, dx_before, shape, rows(dy), columns(w));
  } else if (dx) {
    product<T>(dx, shape, rows(dy), columns(w));
  }
  if (dw) gemm<T>({o, d, n}, columns(dy), columns(x), {dw.data<Compute<T>>(), d, true});
}

// sum(o) += partial sums over blocks of rows, added in the order of the blocks. add(partial, row) adds one row.
template <class S, class F>
void sum_rows(S* sum, int64_t rows, int64_t o, F&& add) {
  const RowBlocks blocks(rows);
  std::vector<S> partial(size_t(blocks.count * o), S(0));
#pragma omp parallel for schedule(static)
  for (int64_t b = 0; b < blocks.count; ++b) {
    for (int64_t i = blocks.begin(b); i < blocks.end(b); ++i) add(partial.data() + b * o, i);
  }
  for (int64_t b = 0; b < blocks.count; ++b) {
#pragma omp simd
    for (int64_t j = 0; j < o; ++j) sum[j] += partial[size_t(b * o + j)];
  }
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
