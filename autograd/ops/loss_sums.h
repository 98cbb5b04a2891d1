// What every loss does with the sums that its kernels add up.
#pragma once

#include <vector>

#include "autograd/tape.h"

namespace gyre {

// For a loss of such data: f64 (4), beside it.
inline Tensor no_sums(const Tensor& data) { return Tensor::zeros({4}, DType::f64, data.device()); }

inline CrossEntropySums read_sums(const Tensor& sums) {
  const std::vector<double> s = sums.to_cpu().to_vector<double>();
  return {s[0], s[1], int64_t(s[2]), int64_t(s[3])};
}

// Beside data of the type of `data`; a loss lies on the CPU.
inline Tensor loss_scalar(double value, const Tensor& data) {
  return Tensor::from<double>({1}, std::vector<double>{value}).to(statistics_dtype(data.dtype()));
}

}  // namespace gyre
