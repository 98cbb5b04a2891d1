// The distance between two matrices, for tests of orthogonalization.
#pragma once

#include <cmath>
#include <vector>

#include "gyre/core/tensor.h"

namespace gyre::test {

// |x - y| / |y|, in Frobenius norms. The tensors have equal sizes, and any dtypes and devices.
inline double relative_difference(const Tensor& x, const Tensor& y) {
  const auto a = x.to_cpu().to(DType::f64).to_vector<double>(), b = y.to_cpu().to(DType::f64).to_vector<double>();
  double squares = 0, all = 0;
  for (size_t i = 0; i < b.size(); ++i) squares += std::pow(a[i] - b[i], 2), all += b[i] * b[i];
  return std::sqrt(squares / all);
}

}  // namespace gyre::test
