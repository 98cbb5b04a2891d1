#include "gyre/models/modules/key_value_window.h"

#include <algorithm>

namespace gyre {

KeyValueWindow::KeyValueWindow(int layers, int64_t size) : window_(size), kept_(2 * size_t(layers)) {
  require(layers >= 1 && size >= 0, "[key-value window] expected at least 1 layer and a size of at least 0, got ",
          layers, " and ", size);
}

Tensor KeyValueWindow::extend(int layer, Side side, const Tensor& chunk) {
  Tensor& kept = kept_[2 * size_t(layer) + size_t(side)];
  const int64_t before = kept ? kept.dim(0) : 0, rows = before + chunk.dim(0);
  Tensor all = chunk;
  if (before > 0) {
    all = Tensor::empty({rows, chunk.cols()}, chunk.dtype(), chunk.device());
    all.slice(0, before).copy_from(kept);
    all.slice(before, rows).copy_from(chunk);
  }
  kept = all.slice(rows - std::min(rows, window_), rows);
  return all;
}

}  // namespace gyre
