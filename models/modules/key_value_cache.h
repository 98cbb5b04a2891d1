// Key/value cache of the decoder's self-attentions: one row per hypothesis, all of the same length.
// The projections of each step are never moved. A hypothesis is a path of row numbers, one for each step, so reordering
// and pruning of beams copies only these integers.
#pragma once

#include <algorithm>
#include <bit>
#include <vector>

#include "gyre/autograd/ops.h"
#include "gyre/core/kernels/kernels.h"

namespace gyre {

class KeyValueCache {
 public:
  KeyValueCache(int layers, int rows);

  int rows() const { return int(parents_.size()); }
  int length() const { return int(ancestry_.cols()); }  // tokens per row, including the current step's

  // Begins a step, which adds one token per row. Each layer then calls set_terms and attend once.
  void begin_step();
  // Sets the relative-position terms of a layer's attention. make(longest) computes them for texts of up to `longest`
  // tokens; it is called only if the cache is longer than the last `longest`.
  template <class Make>
  void set_terms(int layer, int64_t head_width, const Make& make) {
    Terms& kept = terms_[size_t(layer)];
    if (length() <= kept.longest) return;
    kept.longest = int64_t(std::bit_ceil(uint64_t(std::max(length(), 32))));
    const PositionTerms terms = make(kept.longest);
    kept.values = terms.values();
    kept.scale = terms.score_scale(head_width);
  }
  // Stores qkv(rows, 3 * dim), the [query | key | value] of each row's new token. The queries attend to all tokens of
  // their row -> (rows, dim).
  Tensor attend(Kernels& kernels, int layer, const Tensor& qkv, int heads);

  // Row i becomes a copy of the former row parents[i]. The new number of rows is parents.size().
  void gather(const std::vector<int>& parents);

 private:
  struct Terms {
    AttentionPositionTerms values;
    double scale = 0;
    int64_t longest = 0;
  };

  std::vector<std::vector<Tensor>> steps_;  // projections of each step, by layer
  std::vector<Terms> terms_;                // terms by layer
  Tensor ancestry_;           // i32 (rows, length): ancestry_(i, t) is the row of step t for token t of row i
  std::vector<int> parents_;  // row of ancestry_ that each row of the next step extends
};

}  // namespace gyre
