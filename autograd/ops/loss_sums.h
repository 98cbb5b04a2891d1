// Helpers of the loss ops: the tensor of sums that loss kernels add to, and their scalars. A loss stays on its device,
// so that a GPU's queue does not run dry in the middle of a step.
#pragma once

#include "gyre/autograd/tape.h"

namespace gyre {

// Zero sums for a loss kernel, f64 (4) on the device of `data`: loss, nll, tokens, correct (CrossEntropySums).
inline Tensor zero_sums(const Tensor& data) { return Tensor::zeros({4}, DType::f64, data.device()); }

// The loss as a tensor (1), a view of the sums.
inline Tensor loss_scalar(const Tensor& sums) { return sums.slice(0, 1); }

// The cotangent of a loss. Tape::backward() makes it on the CPU.
inline double loss_cotangent(const Backward& b) { return *b.doutput().to_cpu().to(DType::f64).data<double>(); }

}  // namespace gyre
