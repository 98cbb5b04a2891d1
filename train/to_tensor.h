// Numbers of a batch as a tensor of one axis.
#pragma once

#include <vector>

#include "core/tensor.h"

namespace gyre {

template <class T>
Tensor to_tensor(const std::vector<T>& values) {
  return Tensor::from({int64_t(values.size())}, values);
}

}  // namespace gyre
