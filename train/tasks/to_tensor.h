// Converts the numbers of a batch to a one-dimensional tensor.
#pragma once

#include "gyre/core/tensor.h"

namespace gyre {

// `values`: a vector or a span.
template <class Values>
Tensor to_tensor(const Values& values) {
  return Tensor::from({int64_t(values.size())}, values);
}

}  // namespace gyre
