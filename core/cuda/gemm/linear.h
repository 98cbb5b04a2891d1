// Shared parts of the linear layers.
#pragma once

#include "gyre/core/cuda/runtime/context.h"

namespace gyre::cuda {

// Returns t if it has the dtype, or a copy of an f32 tensor rounded to bf16.
Tensor in_type(Context& context, const Tensor& t, DType dtype);

// dx = dx_before + dy w;  dw += dy^T x. An undefined dx or dw is not computed; dx_before may be undefined.
void product_backward(Context& context, const Tensor& dx, const Tensor& dw, const Tensor& dy, const Tensor& x,
                      const Tensor& w, const Tensor& dx_before, bool tf32);

}  // namespace gyre::cuda
