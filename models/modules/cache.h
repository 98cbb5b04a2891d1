// Caches of keys and values for decoding: by hypotheses, for the decoder of a translation, and by texts, for
// continuations.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "gyre/autograd/ops.h"
#include "gyre/core/kernels/arguments.h"
#include "gyre/core/kernels/kernels.h"
#include "gyre/core/segments.h"
#include "gyre/core/tensor.h"

namespace gyre {

// Key/value cache of the decoder's self-attentions: one row per hypothesis, all of the same length.
// The projections of each step are never moved. A hypothesis is a path of row numbers, one for each step, so reordering
// and pruning of beams copies only these integers.
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
    LayerPositionTerms& kept = terms_[size_t(layer)];
    if (length() <= kept.longest) return;
    kept.longest = int64_t(std::bit_ceil(uint64_t(std::max(length(), 32))));
    const PositionTerms terms = make(kept.longest);
    kept.values = terms.tables();
    kept.scale = terms.score_scale(head_width);
  }
  // Stores qkv(rows, 3 * dim), the [query | key | value] of each row's new token. The queries attend to all tokens of
  // their row -> (rows, dim).
  Tensor attend(Kernels& kernels, int layer, const Tensor& qkv, int heads);

  // Row i becomes a copy of the former row parents[i]. The new number of rows is parents.size().
  void gather(const std::vector<int>& parents);

 private:
  struct LayerPositionTerms {
    PositionTables values;
    double scale = 0;
    int64_t longest = 0;
  };

  std::vector<std::vector<Tensor>> steps_;  // projections of each step, by layer
  std::vector<LayerPositionTerms> terms_;   // terms by layer
  Tensor ancestry_;           // i32 (rows, length): ancestry_(i, t) is the row of step t for token t of row i
  std::vector<int> parents_;  // row of ancestry_ that each row of the next step extends
};

// What linear attention keeps of a text in a layer, whatever its length: sums over its rows. Empty at first.
struct LinearState {
  Tensor values;  // (heads * width, features): row j of a head is the sum of value j times the rotated key features
  Tensor keys;    // (1, heads * features): the sum of the key features
};

// Keys and values of a batch of texts that a causal model reads token by token or in chunks. Each text has its own
// place, of a fixed capacity. If rows attend to a window only, a place holds about two windows however long the text:
// once it is full, the last window moves to its beginning, which costs a copied row per token.
class TokenCache {
 public:
  // The text of a place.
  struct Place {
    int32_t tokens;           // the largest number of its tokens
    int32_t first_chunk = 1;  // tokens of its first chunk; later ones are no longer, if there is a window
  };
  // Unrotated keys are rotated by every attention to them, by their numbers in the place and not in the text: tables of
  // angles and the precision of angles then do not depend on the length of the text. Positions must be relative.
  enum class Keys : uint8_t { rotated, unrotated };
  // window: a row attends to itself and to the window - 1 rows before it; 0: to all rows before it. Throws unless there
  // is a layer and every text has a token.
  TokenCache(int layers, const std::vector<Place>& places, int64_t window = 0, Keys keys = Keys::rotated);

  int texts() const { return int(lengths_.size()); }
  int length(int text) const { return lengths_[size_t(text)]; }  // tokens read, with those of the current chunk
  int64_t capacity() const { return capacity_; }                 // rows of all texts
  Keys keys() const { return keys_; }
  // The largest distance between a row and the rows that it attends to.
  int64_t reach() const { return window_ > 0 ? window_ - 1 : AttentionShape::kUnlimited; }
  // The number of positions, of all rows of all texts so far.
  int64_t longest() const;

  // Begins a chunk: segment i has the next tokens of text i, or none. Each layer then calls extend() once. Throws if a
  // text would exceed its capacity.
  void begin_chunk(const Segments& chunk);
  // The rows of the current chunk, and the positions of these rows, i32 (n): in their texts, or with unrotated keys in
  // their places.
  const Segments& chunk() const { return chunk_; }
  const Tensor& positions() const { return positions_; }
  // The rows of each text in the tensors of keys and values, with gaps where texts are shorter than their capacity: the
  // last rows, if there is a window.
  const Segments& rows() const { return rows_; }
  // The positions of all rows of all places in their places, i32 (capacity()): for unrotated keys.
  const Tensor& row_positions() const { return row_positions_; }

  // Stores the keys and values of the chunk in a layer, (n, columns) each.
  struct Rows {
    Tensor keys, values;  // rows of all texts: (capacity of all, columns)
  };
  const Rows& extend(int layer, const Tensor& keys, const Tensor& values);

  // The states of linear attention in a layer, one for each text, which takes the place of extend().
  std::vector<LinearState>& linear_states(int layer) { return states_[size_t(layer)]; }

  // Makes text `to` a copy of text `from`, whose place is of the same size.
  void copy(int from, int to);

 private:
  int32_t capacity_of(int text) const;
  int32_t make_room(int text, int32_t count);

  int64_t window_;
  Keys keys_;
  std::vector<int32_t> begins_, lengths_;
  std::vector<int32_t> stored_;   // rows of each text, with those of the current chunk
  std::vector<int32_t> dropped_;  // first rows of each text that this chunk removes
  int32_t capacity_ = 0;          // capacity of all texts
  Segments chunk_, rows_;
  Tensor positions_, row_positions_;
  std::vector<Rows> layers_;
  std::vector<std::vector<LinearState>> states_;  // states by layer
};

}  // namespace gyre
