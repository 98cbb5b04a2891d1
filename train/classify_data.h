// The labelled rows of a run that trains a classifier, in batches.
#pragma once

#include <cstdint>
#include <string>

#include "data/labelled_batch.h"
#include "train/classify_options.h"
#include "train/epoch_batches.h"
#include "train/training_data.h"

namespace gyre {

// The rows of a file, cut to options.max_length ids; logs what was left out and cut.
LabelledIds read_labelled_rows(const Path& file, const ClassifyOptions& options, const Vocabulary& vocabulary);

// As LabelledInputs; a row is a prediction.
class ClassifyData final : public TrainingData {
 public:
  ClassifyData(const ClassifyOptions& options, const EncoderOnlyConfig& encoder, const Vocabulary& vocabulary,
               int shards);

  std::string describe() const override;
  std::string item() const override { return "row"; }
  uint64_t checksum() const override { return rows_.checksum(); }
  void start_epoch(uint64_t epoch) override { batches_.start(epoch); }
  size_t batches() const override { return batches_.plan().size(); }
  RankBatch batch(size_t i, ShardRange own) const override;

 private:
  std::string name_;
  LabelledIds rows_;
  EncoderOnlyConfig encoder_;
  EpochBatches batches_;
};

}  // namespace gyre
