// Training of text classifiers and regressions, `gyre train classify|regress|pair`: the rows, the scores and the run.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "gyre/data/batch/labeled_batch.h"
#include "gyre/models/config/config.h"
#include "gyre/train/parallel/communicator.h"
#include "gyre/train/step.h"
#include "gyre/train/tasks/classification/classify_options.h"
#include "gyre/train/tasks/predictions.h"

namespace gyre {

// Reads the rows of a file, truncated to options.max_length ids. Logs how many were skipped and truncated.
LabeledIds read_labeled_rows(const Path& file, const ClassifyOptions& options, const Vocabulary& vocabulary);

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
