// Statistics of a tensor's elements, on any device and of any dtype.
#pragma once

#include <cstdint>
#include <string>

#include "gyre/core/tensor.h"

namespace gyre {

struct TensorStats {
  int64_t nan = 0, infinite = 0;
  double min = 0, max = 0;  // range of the finite elements; min > max if there are none
  double norm = 0;          // Euclidean norm of the finite elements
  bool finite() const { return nan + infinite == 0; }
};

TensorStats compute_stats(const Tensor& tensor);
bool all_finite(const Tensor& tensor);

// For example "(4, 8) with 3 NaN and 1 infinite, the others in [-1, 2]" or "(4, 8), all in [-3, 800]".
std::string describe_stats(const Tensor& tensor);
// The same text from statistics that are already computed.
std::string describe_stats(const Shape& shape, const TensorStats& numbers);

}  // namespace gyre
