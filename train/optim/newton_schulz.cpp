#include "gyre/train/optim/newton_schulz.h"

#include <algorithm>
#include <utility>

namespace gyre {
namespace {

constexpr int kIterations = 5;
constexpr NewtonSchulzCoefficients kCoefficients{3.4445, -4.7750, 2.0315};

// The tensor in the type of the operands of products: itself, or a copy rounded to bf16.
Tensor operand(Kernels& kernels, const Tensor& t, DType type) {
  if (t.dtype() == type) return t;
  const Tensor rounded = Tensor::empty(t.shape(), type, t.device());
  kernels.round_to_bf16(rounded, t);
  return rounded;
}

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

Tensor orthogonalize(Kernels& kernels, const Tensor& x, Precision precision) {
  const DType type = precision == Precision::bf16 && x.dtype() == DType::f32 ? DType::bf16 : x.dtype();
  kernels.set_tf32(precision == Precision::tf32);
  const int64_t n = std::min(x.rows(), x.cols());
  const Tensor gram = Tensor::empty({n, n}, x.dtype(), x.device()), square = gram.like();
  const Tensor normalized = x.like();
  normalize(kernels, normalized, x);
  Tensor now = operand(kernels, normalized, type), next = now.like();
  for (int i = 0; i < kIterations; ++i) {
    multiply_by_itself(kernels, gram, now);
    const Tensor factor = operand(kernels, gram, type);
    kernels.linear(square, factor, factor, {});  // the Gram matrix is symmetric
    kernels.newton_schulz_polynomial(square, gram, square, kCoefficients);
    if (i + 1 == kIterations && type != x.dtype()) next = x.like();  // the result is not rounded
    multiply(kernels, next, operand(kernels, square, type), now);
    std::swap(now, next);
  }
  return now;
}

}  // namespace gyre
