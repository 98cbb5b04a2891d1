// The best next tokens of each hypothesis of a decoding step.
#pragma once

#include "gyre/core/tensor.h"

namespace gyre {

// The best next tokens of all rows of a step, on the CPU, as computed by Kernels::topk: ids (rows, k), and
// log-probabilities (rows, k + 1), with that of EOS in the last column.
struct NextTokens {
  Tensor log_probs, ids;
};

}  // namespace gyre
