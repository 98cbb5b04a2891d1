// Metadata of an op for inspection tools (autograd/inspect/tape_rows.h). Training does not use it.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/core/kernels/elementwise_arguments.h"
#include "gyre/core/tensor.h"

namespace gyre {

struct OpMetadata {
  std::vector<std::pair<std::string, std::string>> attributes;  // ("heads", "8")
  std::vector<std::pair<std::string, Tensor>> saved;  // tensors that the op keeps besides its inputs and output
  DropoutMask dropout;  // elementwise, in the shape of the output; not that of attention weights

  template <class T>
  void attribute(std::string_view name, const T& value) {
    attributes.emplace_back(name, concat(value));
  }
  // Ignores an undefined tensor: the op did not save it.
  void save(std::string_view name, const Tensor& tensor) {
    if (tensor) saved.emplace_back(name, tensor);
  }
};

}  // namespace gyre
