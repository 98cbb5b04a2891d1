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
// Matrices in f64 are multiplied in f64. For oblong matrices in fp32 and f64, the iteration runs on the Gram matrix,
// which takes fewer operations. In fp32 this changes the result by 1e-5 to 1e-3 of its norm, most for rank 1.
Tensor orthogonalize(Kernels& kernels, const Tensor& x, Precision precision);

// The floating-point operations for the matrices of a parameter, half of those of a product if it is symmetric.
double orthogonalization_flops(const Parameter& parameter, Precision precision);

// y = x / max(|x|_F, 1e-7); y may be x.
void normalize(Kernels& kernels, const Tensor& y, const Tensor& x);

}  // namespace gyre
