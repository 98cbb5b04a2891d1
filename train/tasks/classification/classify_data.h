// The training data of a classifier: labeled rows, in batches.
#pragma once

#include <cstdint>
#include <string>

#include "gyre/data/batch/labeled_batch.h"
#include "gyre/models/sequence_classifier.h"
#include "gyre/train/tasks/classification/classify_options.h"
#include "gyre/train/tasks/epoch_batches.h"
#include "gyre/train/training_data.h"

namespace gyre {

// Reads the rows of a file, truncated to options.max_length ids. Logs how many were skipped and truncated.
LabeledIds read_labeled_rows(const Path& file, const ClassifyOptions& options, const Vocabulary& vocabulary);

// Batches of labeled rows. Each row is one prediction.
class ClassifyData final : public TrainingData {
 public:
  ClassifyData(const ClassifyOptions& options, const EncoderOnlyConfig& encoder, const Vocabulary& vocabulary,
               LossFunction<LabeledInput> loss, int micro_batches);

  std::string describe() const override;
  std::string item() const override { return "row"; }
  uint64_t checksum() const override { return rows_.checksum(); }
  void start_epoch(uint64_t epoch, uint64_t) override { batches_.start(epoch); }
  size_t batches() const override { return batches_.plan().size(); }
  RankBatch batch(size_t i, MicroBatchRange own) const override;

 private:
  std::string name_;
  LabeledIds rows_;
  EncoderOnlyConfig encoder_;
  EpochBatches batches_;
  LossFunction<LabeledInput> loss_;
};

}  // namespace gyre
