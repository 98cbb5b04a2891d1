// Rounding of f32 tensors to bf16.
#pragma once

#include "gyre/core/cuda/runtime/context.h"

namespace gyre::cuda {

// out = x rounded to bf16
void round_to_bf16(const Context& context, const Tensor& out, const Tensor& x);

}  // namespace gyre::cuda
