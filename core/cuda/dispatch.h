// Dispatch from dtypes to template types, and raw pointers for kernels.
#pragma once

#include "gyre/core/cuda/numbers.h"
#include "gyre/core/kernels/kernels.h"
#include "gyre/core/tensor.h"

namespace gyre::cuda {

// Like dispatch_float(), but also accepts bf16, for data (parameters are never bf16).
template <class F>
auto dispatch_data_type(const Tensor& data, F&& f) {
  return data.dtype() == DType::bf16 ? f(bfloat16{}) : dispatch_float(data, f);
}

template <class T>
T* data_or_null(const Tensor& t) {
  return t ? t.data<T>() : nullptr;
}

// A strided view of one projection in a wider tensor: element (row, column) is data[row * stride + column].
template <class T>
struct Rows {
  T* data;
  int64_t stride;
};
template <class T>
Rows<T> rows_of(const HeadColumns& columns) {
  if (!columns.rows) return {nullptr, 0};
  return {columns.rows.template data<T>() + columns.first, columns.rows.cols()};
}

Dropout dropout_of(const DropoutMask& mask);  // core/cuda/dropout.cu

constexpr int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace gyre::cuda
