// General matrix product (GEMM), used for all large products: C(m,n) = [C +] A(m,k) B(k,n), by cublasLt, with sums in
// fp32 (fp64 for f64).
#pragma once

#include "gyre/core/cuda/runtime/context.h"

namespace gyre::cuda {

// An operand of a product. The summed index runs over the rows of the tensor (summed_over_rows) or over its columns.
struct Operand {
  const Tensor& tensor;
  bool summed_over_rows;

  int64_t summed_size() const { return summed_over_rows ? tensor.rows() : tensor.cols(); }
  int64_t free_size() const { return summed_over_rows ? tensor.cols() : tensor.rows(); }
};
inline Operand rows(const Tensor& t) { return {t, false}; }    // summed over the columns
inline Operand columns(const Tensor& t) { return {t, true}; }  // summed over the rows

struct ProductOptions {
  bool accumulate = false;  // add to C
  bool tf32 = false;        // f32 operands may be rounded to tf32
  Tensor bias = {};         // (n), of C's type, added to each row before C is rounded
  bool relu = false;        // apply relu after the bias; ignored without a bias
};

// Computes the product. Both operands have the same type; C has it too, or f32 for bf16 operands. Results are bitwise
// reproducible from run to run. Throws Error for other types or shapes.
void product(const Context& context, const Tensor& c, const Operand& a, const Operand& b,
             const ProductOptions& options);

}  // namespace gyre::cuda
