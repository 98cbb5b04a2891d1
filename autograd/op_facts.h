// What an op tells those who look at a tape (autograd/tape_rows.h): nothing of it is needed for training.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/tensor.h"

namespace gyre {

struct OpFacts {
  std::vector<std::pair<std::string, std::string>> attributes;  // ("heads", "8")
  std::vector<std::pair<std::string, Tensor>> saved;            // for backward, beside inputs and output

  template <class T>
  void attribute(std::string_view name, const T& value) {
    attributes.emplace_back(name, concat(value));
  }
  // One that is undefined was not saved.
  void save(std::string_view name, const Tensor& tensor) {
    if (tensor) saved.emplace_back(name, tensor);
  }
};

}  // namespace gyre
