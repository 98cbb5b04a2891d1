// Numbers that an encoding computes once, in f64 on the CPU, in the type and on the device where a tape wants them.
#pragma once

#include <utility>

#include "core/tensor.h"

namespace gyre {

class ConstantTable {
 public:
  ConstantTable() = default;
  explicit ConstantTable(Tensor exact) : exact_(std::move(exact)) {}

  const Tensor& exact() const { return exact_; }
  // The last answer is kept.
  const Tensor& as(DType dtype, Device device) const {
    if (!sent_ || sent_.dtype() != dtype || sent_.device() != device) sent_ = exact_.to(dtype).to(device);
    return sent_;
  }

 private:
  Tensor exact_;
  mutable Tensor sent_;
};

}  // namespace gyre
