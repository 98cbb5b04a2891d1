// A table that an encoding computes once, in f64 on the CPU, and copies to the dtype and the device of a tape.
#pragma once

#include <utility>

#include "gyre/core/tensor.h"

namespace gyre {

class ConstantTable {
 public:
  ConstantTable() = default;
  explicit ConstantTable(Tensor exact) : exact_(std::move(exact)) {}

  const Tensor& exact() const { return exact_; }
  // The last copy is kept.
  const Tensor& as(DType dtype, Device device) const {
    if (!copy_ || copy_.dtype() != dtype || copy_.device() != device) copy_ = exact_.to(dtype).to(device);
    return copy_;
  }

 private:
  Tensor exact_;
  mutable Tensor copy_;
};

}  // namespace gyre
