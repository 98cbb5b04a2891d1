// The inputs of models: converts the numbers of a batch to tensors, and checks that a model has positions for them.
#pragma once

#include <cstdint>
#include <string>

#include "gyre/core/option_checks.h"
#include "gyre/core/tensor.h"
#include "gyre/data/batch/labeled_batch.h"
#include "gyre/data/batch/pair_batch.h"
#include "gyre/models/encoder_decoder.h"
#include "gyre/models/sequence_classifier.h"

namespace gyre {

// `values`: the numbers of a batch, in a vector or a span.
template <class Values>
Tensor to_tensor(const Values& values) {
  return Tensor::from({int64_t(values.size())}, values);
}

inline PairInput pair_input(const PairBatch& batch) {
  return {to_tensor(batch.source_ids), batch.source, to_tensor(batch.target_inputs), to_tensor(batch.target_outputs),
          batch.target};
}

// An encoder with fewer than two token types distinguishes the texts of a pair only by the [SEP] between them.
inline LabeledInput labeled_input(const LabeledBatch& batch, const EncoderOnlyConfig& encoder) {
  return {to_tensor(batch.ids), batch.rows, batch.scores.empty() ? to_tensor(batch.labels) : to_tensor(batch.scores),
          encoder.token_types >= 2 ? to_tensor(batch.token_types) : Tensor()};
}

// Throws a UsageError if a sequence of --max-length tokens has more tokens than the model has positions. `option`: for
// the message.
inline void require_positions(int64_t max_length, int64_t positions, const std::string& option = "--max-length") {
  expect(max_length <= positions, option,
         concat("at most ", positions, ", the number of positions of the model (see --max-positions)"), max_length);
}

}  // namespace gyre
