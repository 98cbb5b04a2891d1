// A packed batch of sentence pairs, as the encoder-decoder takes it: no padding.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/segments.h"
#include "data/token_store.h"

namespace gyre {

struct PairBatch {
  std::vector<int32_t> source_ids;      // x </s>, one after another
  Segments source;                      // where each lies
  std::vector<int32_t> target_inputs;   // <s> y
  std::vector<int32_t> target_outputs;  // y </s>
  Segments target;                      // of both
  int sentences = 0;
  std::vector<uint32_t> indices;  // in the store
};

// Packs pairs of sentences, which come without <s> and </s>, one by one.
class PairPacker {
 public:
  PairPacker(int32_t bos, int32_t eos) : bos_(bos), eos_(eos) {}
  void add(std::span<const int32_t> source, std::span<const int32_t> target);
  PairBatch finish();  // the batch of all pairs so far, without store indices

 private:
  int32_t bos_, eos_;
  PairBatch batch_;
  std::vector<int32_t> source_lengths_, target_lengths_;
};

PairBatch make_pair_batch(const TokenStore& store, std::span<const uint32_t> indices);

}  // namespace gyre
