// Helpers of the loss ops: the tensor of sums that loss kernels add to, and the scalar loss.
#pragma once

#include <vector>

#include "gyre/autograd/tape.h"

namespace gyre {

// Zero sums for a loss kernel, f64 (4) on the device of `data`: loss, nll, tokens, correct (CrossEntropySums).
inline Tensor zero_sums(const Tensor& data) { return Tensor::zeros({4}, DType::f64, data.device()); }

inline CrossEntropySums read_sums(const Tensor& sums) {
  const std::vector<double> s = sums.to_cpu().to_vector<double>();
  return {s[0], s[1], int64_t(s[2]), int64_t(s[3])};
}

// The loss as a tensor (1) on the CPU, in the dtype of statistics for `data`.
inline Tensor loss_scalar(double value, const Tensor& data) {
  return Tensor::from<double>({1}, std::vector<double>{value}).to(statistics_dtype(data.dtype()));
}

}  // namespace gyre
