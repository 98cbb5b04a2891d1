// Packed batches of sentence pairs without padding for encoder-decoder models.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gyre/core/segments.h"
#include "gyre/data/store/token_store.h"

namespace gyre {

struct PairBatch {
  std::vector<int32_t> source_ids;      // x </s> of each pair, concatenated
  Segments source;                      // range of each source sentence in source_ids
  std::vector<int32_t> target_inputs;   // <s> y of each pair, concatenated
  std::vector<int32_t> target_outputs;  // y </s> of each pair, concatenated
  Segments target;                      // range of each target sentence in target_inputs and target_outputs
  int sentences = 0;                    // number of pairs
  std::vector<uint32_t> indices;        // numbers of the pairs in the store
};

// Packs sentence pairs one by one. The ids that it takes contain no <s> and </s>.
class PairPacker {
 public:
  PairPacker(int32_t bos, int32_t eos) : bos_(bos), eos_(eos) {}
  void add(std::span<const int32_t> source, std::span<const int32_t> target);
  PairBatch finish();  // returns the batch of all pairs so far, without store indices

 private:
  int32_t bos_, eos_;
  PairBatch batch_;
  std::vector<int32_t> source_lengths_, target_lengths_;
};

// Packs these pairs of a store. Throws an Error unless the store has two sides.
PairBatch make_pair_batch(const TokenStore& store, std::span<const uint32_t> indices);

}  // namespace gyre
