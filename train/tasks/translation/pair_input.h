// Converts a packed batch of ids to the input tensors of a translation model.
#pragma once

#include "gyre/data/batch/pair_batch.h"
#include "gyre/models/encoder_decoder.h"
#include "gyre/train/tasks/to_tensor.h"

namespace gyre {

inline PairInput pair_input(const PairBatch& batch) {
  return {to_tensor(batch.source_ids), batch.source, to_tensor(batch.target_inputs), to_tensor(batch.target_outputs),
          batch.target};
}

}  // namespace gyre
