// Training of text matching on triplets, `gyre train match`: the triplets and the run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "gyre/data/batch/labeled_batch.h"
#include "gyre/models/config/config.h"
#include "gyre/models/sequence_classifier.h"
#include "gyre/train/parallel/communicator.h"
#include "gyre/train/step.h"
#include "gyre/train/task.h"
#include "gyre/train/tasks/epoch_batches.h"
#include "gyre/train/tasks/matching/match_options.h"

namespace gyre {

// Reads the triplets of a file as pairs, truncated to options.max_length ids. Logs how many were skipped and truncated.
LabeledIds read_triplets(const Path& file, const DataOptions& options, const Vocabulary& vocabulary);

// Batches of triplets. Both pairs of a triplet are in the same micro-batch.
class MatchData final : public TrainingData {
 public:
  MatchData(const MatchOptions& options, const EncoderOnlyConfig& encoder, const Vocabulary& vocabulary,
            LossFunction<LabeledInput> loss, int micro_batches);

  std::string describe() const override;
  std::string item() const override { return "triplet"; }
  uint64_t checksum() const override { return pairs_.checksum(); }
  void start_epoch(uint64_t epoch, uint64_t) override { batches_.start(epoch); }
  size_t batches() const override { return batches_.plan().size(); }
  RankBatch batch(size_t i, MicroBatchRange own) const override;

 private:
  uint64_t length(size_t triplet) const {
    return uint64_t(pairs_.length(2 * triplet)) + uint64_t(pairs_.length(2 * triplet + 1));
  }
  bool swaps(uint32_t triplet) const;
  LabeledInput input(std::span<const uint32_t> triplets) const;

  std::string name_;
  LabeledIds pairs_;
  EncoderOnlyConfig encoder_;
  uint64_t seed_;
  double swap_;
  uint64_t predictions_per_triplet_;
  EpochBatches batches_;
  LossFunction<LabeledInput> loss_;
};

// Collective. Starts the run in start.directory, or resumes an existing one. Returns the result of a replay, if
// options.replay asks for one. `encoder`: the configuration of a new model; with a pretrained model only its dropout is
// used. The run has a task.json (train/tasks/matching/match_objective.h).
std::optional<ReplayResult> train_match(const Resolved<MatchOptions>& options, const EncoderOnlyConfig& encoder,
                                        Communicator& ranks);

}  // namespace gyre
