// Keys and values of the decoder's self-attentions while it decodes: one row per hypothesis, all of the same length.
// Layout of each layer's keys and values: (rows * capacity, dim), the tokens of a row one after another.
#pragma once

#include <vector>

#include "models/modules/attention.h"

namespace gyre {

class KeyValueCache {
 public:
  KeyValueCache(int layers, int64_t dim, int rows, DType dtype);

  int rows() const { return rows_; }
  int length() const { return length_; }  // tokens a row, those of the step under way included

  // Makes room for one more token a row; then each layer calls extend once.
  void begin_step();
  // Stores the token's keys and values (rows, dim); returns all that the rows have, as constants.
  AttentionMemory extend(int layer, const AttentionMemory& token);

  // Row i becomes what row parents[i] was; there are parents.size() rows then. In place where no row that is still
  // read is overwritten: hypotheses that keep their row cost nothing.
  void gather(const std::vector<int>& parents);

 private:
  void rebuild(const std::vector<int>& parents, int capacity);
  void copy_row(Tensor& to, int to_row, int to_capacity, const Tensor& from, int from_row) const;

  std::vector<Tensor> keys_, values_;  // by layer
  int64_t dim_;
  int rows_, capacity_ = 16, length_ = 0;
  Segments segments_;
};

}  // namespace gyre
