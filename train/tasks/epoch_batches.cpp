#include "gyre/train/tasks/epoch_batches.h"

#include <utility>

namespace gyre {

EpochBatches::EpochBatches(BatchItems items, const BatchingOptions& options, uint64_t seed, int micro_batches,
                           int max_length)
    : items_(std::move(items)),
      options_{.budget = {options.unit, options.size},
               .maxi_batch = options.maxi_batch,
               .shuffle = options.shuffle == Shuffle::data,
               .max_length = max_length},
      seed_(seed),
      micro_batches_(micro_batches) {
  start(0);
}

void EpochBatches::start(uint64_t epoch) {
  if (epoch_ == epoch) return;
  plan_ = plan_epoch(items_, options_, seed_, epoch);
  epoch_ = epoch;
}

std::vector<std::vector<uint32_t>> EpochBatches::micro_batches(std::span<const uint32_t> batch) const {
  return split_into_micro_batches(items_, batch, size_t(micro_batches_));
}

}  // namespace gyre
