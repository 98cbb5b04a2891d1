// The batches of the current epoch and their micro-batches, shared by the data of all tasks.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "gyre/data/batch/batch_plan.h"
#include "gyre/train/options.h"

namespace gyre {

class EpochBatches {
 public:
  // Starts with epoch 0. The data that `items` refers to must outlive this object. Items longer than max_length are
  // left out; 0: no limit.
  EpochBatches(BatchItems items, const BatchingOptions& options, uint64_t seed, int micro_batches, int max_length = 0);

  // Plans an epoch. Does nothing if it is the current one.
  void start(uint64_t epoch);
  uint64_t epoch() const { return *epoch_; }
  const EpochPlan& plan() const { return plan_; }
  std::vector<std::vector<uint32_t>> micro_batches(std::span<const uint32_t> batch) const;

 private:
  BatchItems items_;
  BatchOptions options_;
  uint64_t seed_;
  int micro_batches_;
  std::optional<uint64_t> epoch_;
  EpochPlan plan_;
};

}  // namespace gyre
