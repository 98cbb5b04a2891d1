// What layers of products share.
#pragma once

#include "core/cuda/context.h"

namespace gyre::cuda {

// The tensor itself, or, of f32 beside bf16 data, a rounded copy. Weights are kept in f32 and rounded for each product:
// six bytes an element, next to nothing beside a product with many rows.
Tensor in_type(Context& context, const Tensor& t, DType dtype);

// dx = dy w;  dw += dy^T x. Each where it is wanted.
void product_backward(Context& context, const Tensor& dx, const Tensor& dw, const Tensor& dy, const Tensor& x,
                      const Tensor& w, bool tf32);

}  // namespace gyre::cuda
