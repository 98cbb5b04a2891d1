// Keys and values of the decoder's self-attentions while it decodes: one row per hypothesis, all of the same length.
// Each step's projections stay where they were made. A hypothesis is a path through the steps, one row of each: beams
// that reorder, share their past or drop out move a few integers and no token.
#pragma once

#include <algorithm>
#include <bit>
#include <vector>

#include "autograd/ops.h"
#include "core/kernels.h"

namespace gyre {

class KeyValueCache {
 public:
  KeyValueCache(int layers, int rows);

  int rows() const { return int(parents_.size()); }
  int length() const { return int(path_.cols()); }  // tokens a row, those of the step under way included

  // Makes room for one more token a row; then each layer calls set_terms and attend once.
  void begin_step();
  // What order adds to a layer's attention: make(longest) is asked for it when the cache has outgrown its last answer.
  template <class Make>
  void set_terms(int layer, int64_t head_width, const Make& make) {
    Terms& kept = terms_[size_t(layer)];
    if (length() <= kept.longest) return;
    kept.longest = int64_t(std::bit_ceil(uint64_t(std::max(length(), 32))));
    const DistanceTerms terms = make(kept.longest);
    kept.values = terms.values();
    kept.scale = terms.score_scale(head_width);
  }
  // qkv(rows, 3 * dim), [query | key | value] of each row's new token, is kept; the queries attend to all that their
  // rows have -> (rows, dim).
  Tensor attend(Kernels& kernels, int layer, const Tensor& qkv, int heads);

  // Row i becomes what row parents[i] was; there are parents.size() rows then.
  void gather(const std::vector<int>& parents);

 private:
  struct Terms {
    AttentionTerms values;
    double scale = 0;
    int64_t longest = 0;
  };

  std::vector<std::vector<Tensor>> steps_;  // by layer: the projections of each step
  std::vector<Terms> terms_;                // by layer
  Tensor path_;                             // i32 (rows, length): the row of each step that is the token of a row
  std::vector<int> parents_;                // rows of path_ that the next step goes on from
};

}  // namespace gyre
