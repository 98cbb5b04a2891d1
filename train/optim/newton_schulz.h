// Orthogonalization of matrices by the iteration of Newton and Schulz, for Muon.
#pragma once

#include "gyre/autograd/parameters.h"
#include "gyre/core/kernels/kernels.h"

namespace gyre {

// Returns an approximation of U V^T, where x(rows, cols) = U S V^T: singular values of the result are between about 0.7
// and 1.2. Five iterations of X <- (a + b X X^T + c (X X^T)^2) X from X = x / |x|, with the coefficients of Jordan et
// al. 2024 (https://kellerjordan.github.io/posts/muon). The products are of size min(rows, cols). x = 0 gives 0.
// `precision`: that of the products of f32 matrices. bf16 rounds their operands, as Jordan et al. do; the norm, the
// Gram matrices and the polynomial are computed in fp32. Throws Error for bf16 if the kernels do not support it.
// Matrices in f64 are multiplied in f64. In fp32 and f64, if one side is at least 1.5 times the other, the iteration
// runs on the Gram matrix, which takes fewer operations. In fp32 this changes the result by 1e-5 to 1e-3 of its norm,
// most for matrices of low rank.
Tensor orthogonalize(Kernels& kernels, const Tensor& x, Precision precision);

// The floating-point operations for the matrices of a parameter. CPUs compute half of most symmetric products.
double orthogonalization_flops(const Parameter& parameter, Precision precision, Device device);

// y = x / max(|x|_F, 1e-7); y may be x.
void normalize(Kernels& kernels, const Tensor& y, const Tensor& x);

}  // namespace gyre
