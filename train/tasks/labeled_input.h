// Converts a packed batch of labeled rows to the input tensors of a classifier.
#pragma once

#include "gyre/data/batch/labeled_batch.h"
#include "gyre/models/sequence_classifier.h"
#include "gyre/train/tasks/to_tensor.h"

namespace gyre {

// An encoder with fewer than two token types distinguishes the texts of a pair only by the [SEP] between them.
inline LabeledInput labeled_input(const LabeledBatch& batch, const EncoderOnlyConfig& encoder) {
  return {to_tensor(batch.ids), batch.rows, batch.scores.empty() ? to_tensor(batch.labels) : to_tensor(batch.scores),
          encoder.token_types >= 2 ? to_tensor(batch.token_types) : Tensor()};
}

}  // namespace gyre
