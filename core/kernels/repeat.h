// How an operand of an elementary kernel is repeated to the shape of the result, and whether any is, on every backend.
#pragma once

#include <cstdint>

#include "gyre/core/tensor.h"

namespace gyre {

enum class Repeat : uint8_t { none, row, column, element };

inline Repeat repeat_of(const Tensor& operand, const Tensor& whole) {
  if (operand.size() == whole.size()) return Repeat::none;
  if (operand.size() == 1) return Repeat::element;
  return operand.cols() == 1 ? Repeat::column : Repeat::row;
}

// Whether all tensors have the size and dtype of the result, so that one pass without repetition maps their elements.
template <class... Tensors>
bool are_alike(const Tensor& whole, const Tensors&... tensors) {
  return ((tensors.size() == whole.size() && tensors.dtype() == whole.dtype()) && ...);
}

}  // namespace gyre
