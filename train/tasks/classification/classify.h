// Training of text classifiers and regressions, `gyre train classify|regress|pair`: the rows, the scores and the run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "gyre/data/batch/labeled_batch.h"
#include "gyre/models/config/config.h"
#include "gyre/models/sequence_classifier.h"
#include "gyre/train/parallel/communicator.h"
#include "gyre/train/step.h"
#include "gyre/train/task.h"
#include "gyre/train/tasks/classification/classify_options.h"
#include "gyre/train/tasks/epoch_batches.h"
#include "gyre/train/tasks/predictions.h"

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

inline std::string loss_name(const ClassifierConfig& config) {
  return config.is_regression() ? "mean-squared-error" : "cross-entropy";
}

// Computes a metric by name, as in train/metrics, or the loss: cross-entropy (in nats per row) or mean-squared-error.
// Throws a UsageError for any other name.
double score(std::string_view metric, const Predictions& predictions, const LabeledIds& rows);

// Collective. Starts the run in start.directory, or resumes an existing one. Returns the result of a replay, if
// options.replay asks for one. `encoder`: the configuration of a new model; with a pretrained model only its dropout is
// used. The run has a task.json (train/pretrained/trained_model.h).
std::optional<ReplayResult> train_classify(const Resolved<ClassifyOptions>& options, const EncoderOnlyConfig& encoder,
                                           Communicator& ranks);

}  // namespace gyre
