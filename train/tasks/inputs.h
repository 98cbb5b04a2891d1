// From the batches of an epoch to the inputs of models: plans and divides batches, converts their numbers to tensors,
// and checks that a model has positions for them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gyre/core/option_checks.h"
#include "gyre/core/tensor.h"
#include "gyre/data/batch/batch_plan.h"
#include "gyre/data/batch/labeled_batch.h"
#include "gyre/data/batch/pair_batch.h"
#include "gyre/models/encoder_decoder.h"
#include "gyre/models/sequence_classifier.h"
#include "gyre/train/options.h"

namespace gyre {

// The batches of the current epoch and their micro-batches, shared by the data of all tasks.
class EpochBatches {
 public:
  // Starts with epoch 0. The data that `items` refers to must outlive this object. Items longer than max_length are
  // left out; 0: no limit.
  EpochBatches(BatchItems items, const BatchingOptions& options, uint64_t seed, int micro_batches, int max_length = 0)
      : items_(std::move(items)),
        options_{.budget = {options.unit, options.size},
                 .maxi_batch = options.maxi_batch,
                 .shuffle = options.shuffle == Shuffle::data,
                 .max_length = max_length},
        seed_(seed),
        micro_batches_(micro_batches) {
    start(0);
  }

  // Plans an epoch. Does nothing if it is the current one.
  void start(uint64_t epoch) {
    if (epoch_ == epoch) return;
    plan_ = plan_epoch(items_, options_, seed_, epoch);
    epoch_ = epoch;
  }
  uint64_t epoch() const { return *epoch_; }
  const EpochPlan& plan() const { return plan_; }
  std::vector<std::vector<uint32_t>> micro_batches(std::span<const uint32_t> batch) const {
    return split_into_micro_batches(items_, batch, size_t(micro_batches_));
  }

 private:
  BatchItems items_;
  BatchOptions options_;
  uint64_t seed_;
  int micro_batches_;
  std::optional<uint64_t> epoch_;
  EpochPlan plan_;
};

// `values`: the numbers of a batch, in a vector or a span.
template <class Values>
Tensor to_tensor(const Values& values) {
  return Tensor::from({int64_t(values.size())}, values);
}

inline PairInput pair_input(const PairBatch& batch) {
  return {to_tensor(batch.source_ids), batch.source, to_tensor(batch.target_inputs), to_tensor(batch.target_outputs),
          batch.target};
}

// An encoder with fewer than two token types distinguishes the texts of a pair only by the [SEP] between them.
inline LabeledInput labeled_input(const LabeledBatch& batch, const EncoderOnlyConfig& encoder) {
  return {to_tensor(batch.ids), batch.rows, batch.scores.empty() ? to_tensor(batch.labels) : to_tensor(batch.scores),
          encoder.token_types >= 2 ? to_tensor(batch.token_types) : Tensor()};
}

// Throws a UsageError if a sequence of --max-length tokens has more tokens than the model has positions. `option`: for
// the message.
inline void require_positions(int64_t max_length, int64_t positions, const std::string& option = "--max-length") {
  expect(max_length <= positions, option,
         concat("at most ", positions, ", the number of positions of the model (see --max-positions)"), max_length);
}

}  // namespace gyre
