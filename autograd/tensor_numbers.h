// What there is to say of a tensor's numbers, on any device and of any type.
#pragma once

#include <cstdint>
#include <string>

#include "core/tensor.h"

namespace gyre {

struct TensorNumbers {
  int64_t nan = 0, infinite = 0;
  double least = 0, most = 0;  // of the finite ones; least > most where there are none
  double norm = 0;             // Euclidean, of the finite ones
  bool finite() const { return nan + infinite == 0; }
};

TensorNumbers numbers_of(const Tensor& tensor);
bool all_finite(const Tensor& tensor);

// "(4, 8) with 3 NaN and 1 infinite, the others in [-1, 2]"; "(4, 8), all in [-3, 800]".
std::string describe_numbers(const Tensor& tensor);
// The same where they are known.
std::string describe_numbers(const Shape& shape, const TensorNumbers& numbers);

}  // namespace gyre
