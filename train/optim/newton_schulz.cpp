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
  Tensor rounded = Tensor::empty(t.shape(), type, t.device());
  kernels.round_to_bf16(rounded, t);
  return rounded;
}

// Whether the iteration on the Gram matrix takes fewer operations, even on GPUs, which compute symmetric products
// whole.
bool is_oblong(int64_t rows, int64_t columns) { return 2 * std::max(rows, columns) >= 3 * std::min(rows, columns); }

// X X^T, or X^T X if X has more rows than columns, in the type of sums over X.
Tensor gram_matrix(Kernels& kernels, const Tensor& x, DType type) {
  const int64_t n = std::min(x.rows(), x.cols());
  Tensor gram = Tensor::empty({n, n}, type, x.device());
  if (x.rows() <= x.cols()) {
    kernels.symmetric_product(gram, x, x);
  } else {
    gram.zero();
    kernels.linear_backward({}, gram, {}, x, x, /*w=*/gram, {});  // only w's shape counts
  }
  return gram;
}

// x y, for symmetric matrices that commute.
Tensor product(Kernels& kernels, const Tensor& x, const Tensor& y) {
  Tensor xy = x.like();
  kernels.symmetric_product(xy, x, y);
  return xy;
}

// a I + b R + c R^2 of the Gram matrix R. `type`: of the operands of the square.
Tensor polynomial(Kernels& kernels, const Tensor& gram, DType type) {
  const Tensor factor = operand(kernels, gram, type);
  Tensor result = gram.like();
  kernels.symmetric_product(result, factor, factor);
  kernels.newton_schulz_polynomial(result, gram, result, kCoefficients);
  return result;
}

// y = p X, or X p if X has more rows than columns; p is symmetric.
void multiply(Kernels& kernels, const Tensor& y, const Tensor& p, const Tensor& x) {
  if (x.rows() > x.cols()) return kernels.linear(y, x, p, {});
  kernels.linear_backward(y, {}, {}, p, x, x, {});
}

// Iterates on the matrix, and overwrites x if `type` is its type. Rounding errors of X grow by at most about a in each
// iteration, and those of a Gram matrix by a^2, so that only this iteration is used below fp32.
Tensor iterate_on_matrix(Kernels& kernels, const Tensor& x, DType type) {
  Tensor now = operand(kernels, x, type), next = now.like();
  for (int i = 0; i < kIterations; ++i) {
    const Tensor factor = polynomial(kernels, gram_matrix(kernels, now, x.dtype()), type);
    if (i + 1 == kIterations && type != x.dtype()) next = x.like();  // the result is not rounded
    multiply(kernels, next, operand(kernels, factor, type), now);
    std::swap(now, next);
  }
  return now;
}

// Iterates on the Gram matrix: P_k = a I + b R_k + c R_k^2, R_k+1 = P_k R_k P_k, and the result is P_5 .. P_1 X. All of
// these are polynomials of R_1, so that they are symmetric and commute. Only two products have the size of X.
Tensor iterate_on_gram_matrix(Kernels& kernels, const Tensor& x) {
  Tensor gram = gram_matrix(kernels, x, x.dtype()), all;
  for (int i = 0; i < kIterations; ++i) {
    const Tensor factor = polynomial(kernels, gram, x.dtype());
    all = all ? product(kernels, all, factor) : factor;
    if (i + 1 < kIterations) gram = product(kernels, product(kernels, factor, gram), factor);
  }
  Tensor result = x.like();
  multiply(kernels, result, all, x);
  return result;
}

}  // namespace

void normalize(Kernels& kernels, const Tensor& y, const Tensor& x) {
  const Tensor squares = Tensor::empty({squares_blocks(x.size())}, DType::f64, x.device());
  kernels.block_square_sums(squares, x.reshape({x.size()}));
  kernels.divide_by_norm(y, x, squares);
}

double orthogonalization_flops(const Parameter& p, Precision precision, Device device) {
  const double symmetric = device.kind == Device::Kind::cpu ? 1 : 2;  // FLOPs per element of x and product column
  double flops = 0;
  for (const int64_t rows : p.matrix_rows) {
    const auto [n, m] = std::minmax({double(rows), double(p.shape[1])});
    const double gram = (rows <= p.shape[1] ? symmetric : 2) * n * n * m, square = symmetric * n * n * n;
    const bool on_gram = precision == Precision::fp32 && is_oblong(rows, p.shape[1]);
    flops += on_gram ? gram + 17 * square + 2 * n * n * m : kIterations * (gram + square + 2 * n * n * m);
  }
  return flops;
}

Tensor orthogonalize(Kernels& device_kernels, const Tensor& x, Precision precision) {
  Kernels& kernels = device_kernels.with_tf32(precision == Precision::tf32);
  const Tensor normalized = x.like();
  normalize(kernels, normalized, x);
  const bool exact = precision == Precision::fp32 || x.dtype() == DType::f64;
  if (exact && is_oblong(x.rows(), x.cols())) return iterate_on_gram_matrix(kernels, normalized);
  return iterate_on_matrix(kernels, normalized, exact || precision == Precision::tf32 ? x.dtype() : DType::bf16);
}

}  // namespace gyre
