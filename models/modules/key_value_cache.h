// Keys and values of the decoder's self-attentions while it decodes: one row per hypothesis, all of the same length.
// Layout of each layer: (rows * capacity, 2 * dim), the [key | value] of a row's tokens one after another.
#pragma once

#include <vector>

#include "core/kernels.h"

namespace gyre {

class KeyValueCache {
 public:
  KeyValueCache(int layers, int64_t dim, int rows, DType dtype);

  int rows() const { return rows_; }
  int length() const { return length_; }  // tokens a row, those of the step under way included

  // Makes room for one more token a row; then each layer calls attend once.
  void begin_step();
  // Stores the keys and values of each row's new token, qkv(rows, 3 * dim) = [query | key | value]; its query attends
  // to all that the row has -> (rows, dim).
  Tensor attend(Kernels& kernels, int layer, const Tensor& qkv, int heads);

  // Row i becomes what row parents[i] was; there are parents.size() rows then. In place where no row that is still
  // read is overwritten: hypotheses that keep their row cost nothing.
  void gather(const std::vector<int>& parents);

 private:
  void rebuild(const std::vector<int>& parents, int capacity);
  void copy_row(Tensor& to, int to_row, int to_capacity, const Tensor& from, int from_row) const;

  std::vector<Tensor> tokens_;  // by layer
  int64_t dim_;
  int rows_, capacity_ = 16, length_ = 0;
  Segments segments_, queries_;
};

}  // namespace gyre
