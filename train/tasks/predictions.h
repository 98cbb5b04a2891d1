// Outputs of a classifier for the rows of a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
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
  std::span<const double> row(size_t i) const { return std::span(outputs).subspan(i * columns, columns); }
  std::vector<int32_t> classes() const;               // the class with the largest logit of each row
  std::vector<double> probabilities(size_t i) const;  // softmax of the logits of row i
  bool is_finite(size_t i) const;                     // whether all outputs of row i are finite
};

// Collective. The ranks divide the rows, `mini_batch` at a time. All ranks get the same bits, for any number of ranks.
Predictions predict(const SequenceClassifier& model, const LabeledIds& rows, size_t mini_batch, Precision precision,
                    Kernels& kernels, Communicator& ranks);

}  // namespace gyre
