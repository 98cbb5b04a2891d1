// Keys and values of the last rows of a text that a causal model reads in chunks: however long the text, each layer
// keeps as many as a row sees before itself. They are kept unturned, so their places are counted from the first one
// kept: for models to which only distances count.
#pragma once

#include <vector>

#include "core/tensor.h"

namespace gyre {

class KeyValueWindow {
 public:
  // A row sees the `reach` rows before it.
  KeyValueWindow(int layers, int64_t reach);

  int64_t reach() const { return reach_; }
  // Rows that the first layer keeps: those before the next chunk.
  int64_t length() const { return kept_.front() ? kept_.front().dim(0) : 0; }

  // qkv(n, 3 * dim), [queries | keys | values] of a chunk -> those kept with the chunk after them. The last `reach` of
  // these are kept from here on.
  Tensor extend(int layer, const Tensor& qkv);

 private:
  int64_t reach_;
  std::vector<Tensor> kept_;  // by layer
};

}  // namespace gyre
