// Keys and values of the last rows of a text that a causal model reads in chunks. Each layer keeps a fixed number of
// rows, independent of the length of the text. The rows are stored before rotation and their positions count from the
// first row kept, so the model's position encoding must be relative.
#pragma once

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

  // qkv(n, 3 * dim), the [queries | keys | values] of the next chunk -> the rows kept, followed by the chunk. Keeps the
  // last size() of these rows.
  Tensor extend(int layer, const Tensor& qkv);

 private:
  int64_t window_;
  std::vector<Tensor> kept_;  // by layer
};

}  // namespace gyre
