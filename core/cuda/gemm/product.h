// General matrix product (GEMM), used for all large products: C(m,n) = A(m,k) B(k,n) [+ a matrix], by cublasLt, with
// sums in fp32 (fp64 for f64).
#pragma once

#include "gyre/core/cuda/runtime/context.h"

namespace gyre::cuda {

// An operand of a product: the first `columns` columns of a tensor. The summed index runs over the rows of the tensor
// (summed_over_rows) or over these columns.
struct Operand {
  const Tensor& tensor;
  int64_t columns;
  bool summed_over_rows;

  int64_t summed_size() const { return summed_over_rows ? tensor.rows() : columns; }
  int64_t free_size() const { return summed_over_rows ? columns : tensor.rows(); }
};
inline Operand rows(const Tensor& t, int64_t columns) { return {t, columns, false}; }  // summed over the columns
inline Operand rows(const Tensor& t) { return rows(t, t.cols()); }
inline Operand columns(const Tensor& t, int64_t columns) { return {t, columns, true}; }  // summed over the rows
inline Operand columns(const Tensor& t) { return columns(t, t.cols()); }

struct ProductOptions {
  Tensor add = {};    // tensor of C's shape and type, added to the product before C is rounded; may be C
  bool tf32 = false;  // f32 operands may be rounded to tf32
  Tensor bias = {};   // (n), of C's type, added to each row before C is rounded
  bool relu = false;  // apply relu after the bias; ignored without a bias
};

// Computes the product into the first n columns of C, which may have more columns. Both operands have the same type; C
// has it too, or f32 for bf16 operands. Results are bitwise reproducible from run to run. If the library lacks a
// product with the bias, C is rounded before the bias is added, too. Throws Error for other types or shapes.
void product(Context& context, const Tensor& c, const Operand& a, const Operand& b, const ProductOptions& options);

}  // namespace gyre::cuda
