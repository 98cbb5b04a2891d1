// A safetensors file that is written a tensor at a time: for more numbers than memory should hold.
#pragma once

#include <string>
#include <vector>

#include "core/file.h"
#include "core/safetensors_header.h"
#include "core/tensor.h"

namespace gyre {

struct PlannedTensor {
  std::string name;
  DType dtype;
  Shape shape;
};

class SafetensorsWriter {
 public:
  // The tensors in the order of their bytes: each is aligned to its type when no narrower type stands before it. Names
  // must differ.
  SafetensorsWriter(const Path& path, std::vector<PlannedTensor> plan, const SafetensorsMetadata& metadata);

  // The next one of the plan, of its type and shape, on any device.
  void write(const Tensor& tensor);
  // The file appears under its name; every tensor of the plan must have been written.
  void commit();

 private:
  Path path_;
  std::vector<PlannedTensor> plan_;
  size_t written_ = 0;  // tensors
  AtomicFile file_;
};

}  // namespace gyre
