// The batches of the epoch in hand, and their shards: the part that the data of every task have alike.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "data/batch_plan.h"
#include "train/options.h"

namespace gyre {

class EpochBatches {
 public:
  // What `items` views outlives this. Items over max_length are left out; 0: none are. Begins with epoch 0.
  EpochBatches(BatchItems items, const TrainOptions& options, int shards, int max_length = 0);

  // Does nothing when it is the current one.
  void start(uint64_t epoch);
  uint64_t epoch() const { return *epoch_; }
  const EpochPlan& plan() const { return plan_; }
  std::vector<std::vector<uint32_t>> shards(std::span<const uint32_t> batch) const;

 private:
  BatchItems items_;
  BatchOptions options_;
  uint64_t seed_;
  int shards_;
  std::optional<uint64_t> epoch_;
  EpochPlan plan_;
};

}  // namespace gyre
