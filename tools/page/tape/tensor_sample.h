// Statistics of all elements of a tensor with the values of some of them, for a page that shows tensors of any size.
#pragma once

#include <cstdint>
#include <vector>

#include "gyre/autograd/inspect/tensor_stats.h"
#include "gyre/core/io/json.h"

namespace gyre {

struct SampleLimits {
  int64_t whole = 1024;    // tensors of up to this many elements are kept whole
  int64_t lines = 4;       // number of rows, and of columns, that are shown of larger tensors
  int64_t longest = 4096;  // elements of such a row or column
};

// Columns are the last axis, rows all the others.
struct SampleBlock {
  int64_t row = 0, column = 0, rows = 0, columns = 0;
  int64_t elements() const { return rows * columns; }
};

struct TensorSample {
  Shape shape;
  DType dtype = DType::f32;
  TensorStats stats;
  std::vector<SampleBlock> blocks;         // the first rows, then the rest of the first columns
  std::vector<std::vector<float>> values;  // values of each block, row by row
};

// The blocks that sample_tensor() keeps of a tensor of this shape.
std::vector<SampleBlock> sample_blocks(const Shape& shape, const SampleLimits& limits);

TensorSample sample_tensor(const Tensor& tensor, const SampleLimits& limits);

// The object of tensor_json() (tools/inspect/tape/step_report.h) with the blocks, whose values are base64 of
// little-endian fp32.
Json sample_json(const TensorSample& sample);

}  // namespace gyre
