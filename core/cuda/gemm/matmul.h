// One call of cublasLt, and the choice of its algorithm. cublasLt is column-major: it reads each tensor as its
// transpose, and therefore computes C^T = B^T A^T.
#pragma once

#include <array>
#include <optional>

#include "gyre/core/cuda/gemm/product.h"

namespace gyre::cuda {

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
