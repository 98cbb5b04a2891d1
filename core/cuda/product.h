// Matrix products have one door: C(m,n) = [C +] A(m,k) B(k,n) through cublasLt, sums in fp32 (fp64 for f64).
#pragma once

#include "core/cuda/context.h"

namespace gyre::cuda {

// A tensor as one side of a product: the index that is summed over runs along its columns, or along its rows.
struct Operand {
  const Tensor& tensor;
  bool along_rows;

  int64_t summed() const { return along_rows ? tensor.rows() : tensor.cols(); }
  int64_t kept() const { return along_rows ? tensor.cols() : tensor.rows(); }
};
inline Operand rows(const Tensor& t) { return {t, false}; }    // summed over the columns
inline Operand columns(const Tensor& t) { return {t, true}; }  // summed over the rows

struct ProductOptions {
  bool accumulate = false;  // add to what C holds
  bool tf32 = false;        // f32 operands may be rounded
  Tensor bias = {};         // (n), of C's type, added to each row before C is rounded
  bool relu = false;        // of the sums with their bias; not without one
};

// Operands are of one type; C is of it, or f32 where they are bf16. The same bits run after run.
void product(const Context& context, const Tensor& c, const Operand& a, const Operand& b,
             const ProductOptions& options);

}  // namespace gyre::cuda
