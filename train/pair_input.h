// A packed batch of ids as the tensors that the model takes.
#pragma once

#include "data/pair_batch.h"
#include "models/encoder_decoder.h"

namespace gyre {

inline PairInput pair_input(const PairBatch& batch) {
  const auto ids = [](const std::vector<int32_t>& values) { return Tensor::from({int64_t(values.size())}, values); };
  return {ids(batch.source_ids), batch.source, ids(batch.target_inputs), ids(batch.target_outputs), batch.target};
}

}  // namespace gyre
