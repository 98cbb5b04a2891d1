// General matrix product (GEMM), used for all large products: C(m,n) = A(m,k) B(k,n) [+ a matrix], by cublasLt, with
// sums in fp32 (fp64 for f64).
#pragma once

#include <array>
#include <optional>

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

// ---- Products of matrices ------------------------------------------------------------------------------------------
// One call of cublasLt, and the choice of its algorithm. cublasLt is column-major: it reads each tensor as its
// transpose, and therefore computes C^T = B^T A^T.

// C(m,n) = A(m,k) B(k,n)
struct ProductSizes {
  int64_t m, n, k;
};

class Matmul {
 public:
  // All tensors must outlive the object.
  Matmul(const Tensor& c, const Operand& a, const Operand& b, const ProductOptions& options);

  // Everything that the choice of an algorithm for these sizes depends on.
  using Key = std::array<int64_t, 16>;
  Key key(const ProductSizes& sizes) const;

  const ProductSizes& sizes() const { return sizes_; }
  // The sizes with the number of tokens, the rows of A's tensor, rounded up: to a power of two, from 256 on to a
  // multiple of 256.
  ProductSizes rounded_sizes() const;

  // The first algorithm of the library's heuristic that sums in fp32 (fp64) in a fixed order, or none.
  std::optional<cublasLtMatmulAlgo_t> choose(const Context& context, const ProductSizes& sizes);
  // True if the algorithm, chosen for other sizes, also computes these.
  bool accepts(const Context& context, const cublasLtMatmulAlgo_t& algorithm);
  void run(const Context& context, const cublasLtMatmulAlgo_t& algorithm);

 private:
  // In the order of cublasLt's arguments: `first` is the tensor of B.
  struct Layouts {
    cublasLtMatrixLayoutOpaque_t first, second, c;
  };
  Layouts layouts(const ProductSizes& sizes) const;
  const Tensor& added() const { return options_.add ? options_.add : c_; }

  const Tensor& c_;
  const Operand a_, b_;
  const ProductOptions& options_;
  ProductSizes sizes_;
  cublasLtMatmulDescOpaque_t description_;
};

// The algorithm for this call, or none if the library has none with its epilogue. Chosen once for each rounded number
// of tokens, because the numbers of tokens differ from batch to batch and a choice takes longer than queueing the
// product. It depends only on the arguments, not on earlier calls.
std::optional<cublasLtMatmulAlgo_t> algorithm_for(const Context& context, Matmul& call);

}  // namespace gyre::cuda
