// A packed batch of labelled rows as the tensors that a classifier takes.
#pragma once

#include "data/labelled_batch.h"
#include "models/sequence_classifier.h"
#include "train/to_tensor.h"

namespace gyre {

// An encoder with fewer than two token types sees no difference between the texts of a pair but the [SEP] between them.
inline LabelledInput labelled_input(const LabelledBatch& batch, const EncoderOnlyConfig& encoder) {
  return {to_tensor(batch.ids), batch.rows, batch.scores.empty() ? to_tensor(batch.labels) : to_tensor(batch.scores),
          encoder.token_types >= 2 ? to_tensor(batch.token_types) : Tensor()};
}

}  // namespace gyre
