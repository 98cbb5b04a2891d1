// Keys and values of the last rows of a text that a causal model reads in chunks. Each layer keeps a fixed number of
// rows, independent of the length of the text. The rows are stored before rotation and their positions count from the
// first row kept, so the model's position encoding must be relative.
#pragma once

#include <cstdint>
#include <vector>

#include "gyre/core/tensor.h"

namespace gyre {

class KeyValueWindow {
 public:
  // A row attends to itself and to the `size` rows before it. Throws unless layers >= 1 and size >= 0.
  KeyValueWindow(int layers, int64_t size);

  int64_t size() const { return window_; }
  // Number of rows kept before the next chunk, in the first layer.
  int64_t length() const { return kept_.front() ? kept_.front().dim(0) : 0; }

  // The keys or values of the next chunk -> the rows kept, followed by those of the chunk. Keeps the last size() of
  // these rows.
  enum class Side : uint8_t { keys, values };
  Tensor extend(int layer, Side side, const Tensor& chunk);

 private:
  int64_t window_;
  std::vector<Tensor> kept_;  // by layer: keys, values
};

}  // namespace gyre
