// A packed batch of ids as the tensors that the model takes.
#pragma once

#include "data/pair_batch.h"
#include "models/encoder_decoder.h"
#include "train/to_tensor.h"

namespace gyre {

inline PairInput pair_input(const PairBatch& batch) {
  return {to_tensor(batch.source_ids), batch.source, to_tensor(batch.target_inputs), to_tensor(batch.target_outputs),
          batch.target};
}

}  // namespace gyre
