// Predictions of a classifier for labeled rows, and their scores.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gyre/core/kernels/kernels.h"
#include "gyre/data/batch/labeled_batch.h"
#include "gyre/models/sequence_classifier.h"
#include "gyre/train/parallel/communicator.h"

namespace gyre {

struct Predictions {
  std::vector<double> outputs;  // [rows, columns]: a logit for each class, or one number
  size_t columns = 0;

  size_t rows() const { return outputs.size() / columns; }
  std::vector<int32_t> classes() const;  // the class with the largest logit of each row
};

// Collective. The ranks divide the rows, `mini_batch` at a time. All ranks get the same bits, for any number of ranks.
Predictions predict(const SequenceClassifier& model, const LabeledIds& rows, size_t mini_batch, Precision precision,
                    Kernels& kernels, Communicator& ranks);

inline std::string loss_name(const ClassifierConfig& config) {
  return config.is_regression() ? "mean-squared-error" : "cross-entropy";
}

// Computes a metric by name, as in train/metrics, or the loss: cross-entropy (in nats per row) or mean-squared-error.
// Throws a UsageError for any other name.
double score(std::string_view metric, const Predictions& predictions, const LabeledIds& rows);

}  // namespace gyre
