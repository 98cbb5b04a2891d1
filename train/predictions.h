// What a classifier says of labelled rows, and how well it fits their labels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/kernels.h"
#include "data/labelled_batch.h"
#include "models/sequence_classifier.h"
#include "train/communicator.h"

namespace gyre {

struct Predictions {
  std::vector<double> outputs;  // row after row: a logit for each class, or one number
  size_t columns = 0;

  size_t rows() const { return outputs.size() / columns; }
  std::vector<int32_t> classes() const;  // of the largest logit of each row
};

// Collective: the ranks share the rows, `mini_batch` at a time, and all get the same bits whatever their number.
Predictions predict(const SequenceClassifier& model, const LabelledIds& rows, size_t mini_batch, Precision precision,
                    Kernels& kernels, Communicator& ranks);

inline std::string loss_name(const ClassifierConfig& config) {
  return config.is_regression() ? "mean-squared-error" : "cross-entropy";
}

// A metric by name, as in train/metrics, or the loss: cross-entropy is nats a row. Another
// name is a UsageError.
double score(std::string_view metric, const Predictions& predictions, const LabelledIds& rows);

}  // namespace gyre
