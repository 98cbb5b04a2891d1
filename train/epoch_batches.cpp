#include "train/epoch_batches.h"

#include <utility>

namespace gyre {

EpochBatches::EpochBatches(BatchItems items, const TrainOptions& options, int shards, int max_length)
    : items_(std::move(items)),
      options_{.budget = {BatchBudget::parse_unit(options.batch_unit), options.batch_words},
               .maxi_batch = options.maxi_batch,
               .shuffle = options.shuffle == "data",
               .max_length = max_length},
      seed_(options.seed),
      shards_(shards) {
  start(0);
}

void EpochBatches::start(uint64_t epoch) {
  if (epoch_ == epoch) return;
  plan_ = plan_epoch(items_, options_, seed_, epoch);
  epoch_ = epoch;
}

std::vector<std::vector<uint32_t>> EpochBatches::shards(std::span<const uint32_t> batch) const {
  return cut_into_shards(items_, batch, size_t(shards_));
}

}  // namespace gyre
