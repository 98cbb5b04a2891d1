// From the types of tensors to the types of templates, and raw pointers for kernels.
#pragma once

#include "core/cuda/numbers.h"
#include "core/dispatch.h"
#include "core/kernels.h"

namespace gyre::cuda {

// As with_type(), for data, which may be bf16 too; parameters are not.
template <class F>
auto with_data_type(const Tensor& data, F&& f) {
  return data.dtype() == DType::bf16 ? f(bfloat16{}) : with_type(data, f);
}

template <class T>
T* data_or_null(const Tensor& t) {
  return t ? t.data<T>() : nullptr;
}

// The rows of a projection that lies among others: element (row, column) is data[row * stride + column].
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
