// Keys and values of a batch of texts that a causal model continues token by token. Each text has its own place, of a
// fixed capacity, so that nothing that is stored ever moves. Keys are stored after their rotation.
#pragma once

#include <cstdint>
#include <vector>

#include "gyre/core/segments.h"
#include "gyre/core/tensor.h"

namespace gyre {

class TokenCache {
 public:
  // capacities: the largest number of tokens of each text. Throws unless there is a layer and every capacity is
  // positive.
  TokenCache(int layers, const std::vector<int32_t>& capacities);

  int texts() const { return int(lengths_.size()); }
  int length(int text) const { return lengths_[size_t(text)]; }  // tokens stored, with those of the current chunk

  // Begins a chunk: segment i has the next tokens of text i, or none. Each layer then calls extend() once. Throws if a
  // text would exceed its capacity.
  void begin_chunk(const Segments& chunk);
  // The rows of the current chunk, and the positions of these rows in their texts, i32 (n).
  const Segments& chunk() const { return chunk_; }
  const Tensor& positions() const { return positions_; }
  // The rows of each text in the tensors of keys and values, with gaps where texts are shorter than their capacity.
  const Segments& rows() const { return rows_; }

  // Stores the keys and values of the chunk in a layer, (n, columns) each.
  struct Rows {
    Tensor keys, values;  // of all texts: (capacity of all, columns)
  };
  const Rows& extend(int layer, const Tensor& keys, const Tensor& values);

 private:
  std::vector<int32_t> begins_, lengths_;
  int32_t capacity_ = 0;  // of all texts
  Segments chunk_, rows_;
  Tensor positions_;
  std::vector<Rows> layers_;
};

}  // namespace gyre
