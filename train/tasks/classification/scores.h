// Scores of the predictions of a classifier for labeled rows.
#pragma once

#include <string>
#include <string_view>

#include "gyre/data/batch/labeled_batch.h"
#include "gyre/models/sequence_classifier.h"
#include "gyre/train/tasks/predictions.h"

namespace gyre {

inline std::string loss_name(const ClassifierConfig& config) {
  return config.is_regression() ? "mean-squared-error" : "cross-entropy";
}

// Computes a metric by name, as in train/metrics, or the loss: cross-entropy (in nats per row) or mean-squared-error.
// Throws a UsageError for any other name.
double score(std::string_view metric, const Predictions& predictions, const LabeledIds& rows);

}  // namespace gyre
