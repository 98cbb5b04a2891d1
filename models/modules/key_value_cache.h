// Keys and values of the decoder's self-attentions while it decodes: one row per hypothesis, all of the same length.
// Each step's projections stay where they were made. A hypothesis is a path through the steps, one row of each: beams
// that reorder, share their past or drop out move a few integers and no token.
#pragma once

#include <vector>

#include "core/kernels.h"

namespace gyre {

class KeyValueCache {
 public:
  KeyValueCache(int layers, int rows);

  int rows() const { return int(parents_.size()); }
  int length() const { return int(path_.cols()); }  // tokens a row, those of the step under way included

  // Makes room for one more token a row; then each layer calls attend once.
  void begin_step();
  // qkv(rows, 3 * dim), [query | key | value] of each row's new token, is kept; the queries attend to all that their
  // rows have -> (rows, dim).
  Tensor attend(Kernels& kernels, int layer, const Tensor& qkv, int heads);

  // Row i becomes what row parents[i] was; there are parents.size() rows then.
  void gather(const std::vector<int>& parents);

 private:
  std::vector<std::vector<Tensor>> steps_;  // by layer: the projections of each step
  Tensor path_;                             // i32 (rows, length): the row of each step that is the token of a row
  std::vector<int> parents_;                // rows of path_ that the next step goes on from
};

}  // namespace gyre
