// Passes over the rows of a matrix before or after its product.
#pragma once

#include "gyre/core/cuda/runtime/context.h"

namespace gyre::cuda {

// c(m, at least n) = c + bias(n) in the first n columns, followed by relu if wanted.
void add_bias(Context& context, const Tensor& c, const Tensor& bias, bool relu);

// sums(n) += the sums over the rows of the first n columns of t.
void add_row_sums(Context& context, const Tensor& sums, const Tensor& t);

}  // namespace gyre::cuda
