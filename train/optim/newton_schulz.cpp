#include "gyre/train/optim/newton_schulz.h"

#include <algorithm>
#include <utility>

namespace gyre {
namespace {

constexpr int kIterations = 5;
constexpr NewtonSchulzCoefficients kCoefficients{3.4445, -4.7750, 2.0315};

// gram = X X^T, or X^T X if X has more rows than columns.
void multiply_by_itself(Kernels& kernels, const Tensor& gram, const Tensor& x) {
  if (x.rows() <= x.cols()) return kernels.linear(gram, x, x, {});
  gram.zero();
  kernels.linear_backward({}, gram, {}, x, x, /*w=*/gram, {});  // only w's shape counts
}

// y = p X, or X p if X has more rows than columns; p is symmetric.
void multiply(Kernels& kernels, const Tensor& y, const Tensor& p, const Tensor& x) {
  if (x.rows() > x.cols()) return kernels.linear(y, x, p, {});
  kernels.linear_backward(y, {}, {}, p, x, x, {});
}

}  // namespace

void normalize(Kernels& kernels, const Tensor& y, const Tensor& x) {
  const Tensor squares = Tensor::empty({squares_blocks(x.size())}, DType::f64, x.device());
  kernels.block_square_sums(squares, x.reshape({x.size()}));
  kernels.divide_by_norm(y, x, squares);
}

// Per iteration, two products with the matrix, and the square of its Gram matrix.
double orthogonalization_flops(const Parameter& p) {
  double flops = 0;
  for (const int64_t rows : p.matrix_rows) {
    const auto [least, most] = std::minmax({double(rows), double(p.shape[1])});
    flops += kIterations * 2 * (2 * least * least * most + least * least * least);
  }
  return flops;
}

Tensor orthogonalize(Kernels& kernels, const Tensor& x) {
  const int64_t n = std::min(x.rows(), x.cols());
  const Tensor gram = Tensor::empty({n, n}, x.dtype(), x.device()), square = gram.like();
  Tensor now = x.like(), next = x.like();
  normalize(kernels, now, x);
  for (int i = 0; i < kIterations; ++i) {
    multiply_by_itself(kernels, gram, now);
    kernels.linear(square, gram, gram, {});  // the Gram matrix is symmetric
    kernels.newton_schulz_polynomial(square, gram, square, kCoefficients);
    multiply(kernels, next, square, now);
    std::swap(now, next);
  }
  return now;
}

}  // namespace gyre
