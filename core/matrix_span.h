// A matrix view of a tensor on the CPU.
#pragma once

#include "gyre/core/tensor.h"

namespace gyre {

// Non-owning, row-major. Builds with _GLIBCXX_ASSERTIONS check every index.
template <class T>
class MatrixSpan {
 public:
  MatrixSpan(std::span<T> elements, int64_t rows, int64_t cols) : elements_(elements), rows_(rows), cols_(cols) {}
  int64_t rows() const { return rows_; }
  int64_t cols() const { return cols_; }
  std::span<T> row(int64_t i) const { return elements_.subspan(size_t(i * cols_), size_t(cols_)); }
  T& operator()(int64_t i, int64_t j) const { return row(i)[size_t(j)]; }

 private:
  std::span<T> elements_;
  int64_t rows_, cols_;
};

// Views a tensor as a matrix: the columns are the last axis, the rows all other axes, flattened. Throws Error if the
// tensor has another dtype or is not on the CPU.
template <class T>
MatrixSpan<T> matrix(const Tensor& t) {
  return {t.span<T>(), t.rows(), t.cols()};
}

}  // namespace gyre
