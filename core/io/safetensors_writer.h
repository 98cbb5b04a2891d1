// Writes a safetensors file one tensor at a time, for models that should not be in memory as a whole.
#pragma once

#include <string>
#include <vector>

#include "gyre/core/io/file.h"
#include "gyre/core/io/safetensors_header.h"
#include "gyre/core/tensor.h"

namespace gyre {

// Name, dtype and shape of a tensor that will be written.
struct PlannedTensor {
  std::string name;
  DType dtype;
  Shape shape;
};

class SafetensorsWriter {
 public:
  // `plan` lists the tensors in the order of their data. A tensor is aligned to its type if no narrower type precedes
  // it. Throws Error if names are not unique.
  SafetensorsWriter(const Path& path, std::vector<PlannedTensor> plan, const SafetensorsMetadata& metadata);

  // Writes the next tensor of the plan, from any device. Throws Error if dtype or shape differ from the plan.
  void write(const Tensor& tensor);
  // Moves the file to its final name. Throws Error unless every tensor of the plan was written.
  void commit();

 private:
  Path path_;
  std::vector<PlannedTensor> plan_;
  size_t written_ = 0;  // tensors
  AtomicFile file_;
};

}  // namespace gyre
