#include "gyre/data/batch/pair_batch.h"

#include <utility>

#include "gyre/core/error.h"

namespace gyre {

void PairPacker::add(std::span<const int32_t> source, std::span<const int32_t> target) {
  batch_.source_ids.insert(batch_.source_ids.end(), source.begin(), source.end());
  batch_.source_ids.push_back(eos_);
  source_lengths_.push_back(int32_t(source.size()) + 1);

  batch_.target_inputs.push_back(bos_);
  batch_.target_inputs.insert(batch_.target_inputs.end(), target.begin(), target.end());
  batch_.target_outputs.insert(batch_.target_outputs.end(), target.begin(), target.end());
  batch_.target_outputs.push_back(eos_);
  target_lengths_.push_back(int32_t(target.size()) + 1);
}

PairBatch PairPacker::finish() {
  batch_.source = Segments::from_lengths(source_lengths_);
  batch_.target = Segments::from_lengths(target_lengths_);
  batch_.sentences = int(source_lengths_.size());
  return std::move(batch_);
}

PairBatch make_pair_batch(const TokenStore& store, std::span<const uint32_t> indices) {
  require(store.sides() == 2, "[batches] ", store.name(), ": expected a store of pairs, got one with a single side");
  PairPacker packer(store.bos(), store.eos());
  std::vector<int32_t> source, target;
  for (const uint32_t i : indices) {
    source.clear();
    target.clear();
    store.append(i, 0, source);
    store.append(i, 1, target);
    packer.add(source, target);
  }
  PairBatch batch = packer.finish();
  batch.indices.assign(indices.begin(), indices.end());
  return batch;
}

}  // namespace gyre
