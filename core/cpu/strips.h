// Elementwise work in strips of numbers that stay in the first-level cache. A function is compiled once for fp32 and
// once for fp64: data in bf16 is widened to a buffer first, and results are rounded from one.
#pragma once

#include "gyre/core/cpu/parallel.h"

namespace gyre::GYRE_CPU_NAMESPACE {

constexpr int64_t kStripSize = 1024;  // numbers

// Elements of a matrix, adjacent in memory: some columns of one row, or some whole rows.
struct Strip {
  int64_t row, rows, column, columns;
  int64_t size() const { return rows * columns; }
};

// The division of a matrix into strips, which depends only on its shape.
struct Strips {
  int64_t rows, columns;
  int64_t rows_each, columns_each, of_row;  // of_row: strips per row, 1 if a strip has whole rows

  Strips(int64_t n, int64_t d)
      : rows(n),
        columns(d),
        rows_each(d < kStripSize ? kStripSize / std::max<int64_t>(1, d) : 1),
        columns_each(std::min(d, kStripSize)),
        of_row(d < kStripSize ? 1 : (d + kStripSize - 1) / kStripSize) {}
  int64_t count() const { return columns == 0 ? 0 : (rows + rows_each - 1) / rows_each * of_row; }
  Strip at(int64_t i) const {
    const int64_t row = i / of_row * rows_each, column = i % of_row * columns_each;
    return {row, std::min(rows_each, rows - row), column, std::min(columns_each, columns - column)};
  }
  int64_t first_element(const Strip& s) const { return s.row * columns + s.column; }
};

template <class C>
using Buffer = C[kStripSize];

// Calls f(C{}) with the type of the arithmetic, float or double.
template <class F>
auto dispatch_compute_type(const Tensor& data, F&& f) {
  return dispatch_data_type(data, [&]<class T>(T) { return f(Compute<T>{}); });
}

// Elements first .. first + n - 1 of a tensor, as numbers of type C: in place, or widened to `buffer`.
template <class C>
const C* load_strip(const Tensor& t, int64_t first, int64_t n, C* buffer) {
  if constexpr (std::is_same_v<C, float>) {
    if (t.dtype() == DType::bf16) {
      const bfloat16* from = t.data<bfloat16>() + first;
#pragma omp simd
      for (int64_t i = 0; i < n; ++i) buffer[i] = from[i];
      return buffer;
    }
  }
  return t.data<C>() + first;
}

// Where to write elements first, first + 1, .. of a tensor: in place, or to `buffer`, which store_strip() rounds.
template <class C>
C* strip_to_store(const Tensor& t, int64_t first, C* buffer) {
  return t.dtype() == DType::bf16 ? buffer : t.data<C>() + first;
}
template <class C>
void store_strip(const Tensor& t, int64_t first, int64_t n, const C* buffer) {
  if constexpr (std::is_same_v<C, float>) {
    if (t.dtype() != DType::bf16) return;
    bfloat16* to = t.data<bfloat16>() + first;
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) to[i] = buffer[i];
  }
}

// Calls compute(to, strip) for each strip of y, in parallel, and stores what it writes to `to`.
template <class C, class F>
void write_strips(const Tensor& y, const Strips& strips, const F& compute) {
  parallel_ranges(strips.count(), strips.rows_each * strips.columns_each, [&](int64_t begin, int64_t end) {
    alignas(kVectorBytes) Buffer<C> buffer;
    for (int64_t i = begin; i < end; ++i) {
      const Strip s = strips.at(i);
      const int64_t first = strips.first_element(s);
      compute(strip_to_store(y, first, buffer), s);
      store_strip(y, first, s.size(), buffer);
    }
  });
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
