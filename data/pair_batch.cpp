#include "data/pair_batch.h"

#include "core/error.h"

namespace gyre {

PairBatch make_pair_batch(const TokenStore& store, std::span<const uint32_t> indices) {
  require(store.sides() == 2, "[batches] ", store.name(), ": expected a store of pairs, got one with a single side");
  PairBatch batch;
  std::vector<int32_t> source_lengths, target_lengths;
  for (const uint32_t i : indices) {
    store.append(i, 0, batch.source_ids);
    batch.source_ids.push_back(store.eos());
    source_lengths.push_back(int32_t(store.length(i, 0)) + 1);

    batch.target_inputs.push_back(store.bos());
    store.append(i, 1, batch.target_inputs);
    store.append(i, 1, batch.target_outputs);
    batch.target_outputs.push_back(store.eos());
    target_lengths.push_back(int32_t(store.length(i, 1)) + 1);
  }
  batch.source = Segments::from_lengths(source_lengths);
  batch.target = Segments::from_lengths(target_lengths);
  batch.sentences = int(indices.size());
  batch.indices.assign(indices.begin(), indices.end());
  return batch;
}

}  // namespace gyre
