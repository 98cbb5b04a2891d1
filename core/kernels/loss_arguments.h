// Results of the loss kernels.
#pragma once

#include <cstdint>

#include "gyre/core/tensor.h"

namespace gyre {

// Terms of the cross-entropy of a row beside -log p[target].
struct CrossEntropyOptions {
  double smoothing = 0;  // label smoothing: the share of the uniform distribution over the classes
  double z_loss = 0;     // factor of lse^2, which keeps the logits near a normalized distribution (PaLM: 1e-4)
};

// Sums of a loss over the rows of a batch. Cross-entropy ignores rows with target < 0. Squared error sets nll = loss
// and correct = 0.
struct CrossEntropySums {
  double loss = 0;      // cross-entropy with label smoothing and z-loss
  double nll = 0;       // cross-entropy without them
  int64_t tokens = 0;   // rows that are not ignored
  int64_t correct = 0;  // rows in which the target has the largest logit
};

// The sums that a loss kernel has written, f64 (4), on the CPU.
inline CrossEntropySums sums_from(const Tensor& totals) {
  const auto* s = totals.data<double>();
  return {s[0], s[1], int64_t(s[2]), int64_t(s[3])};
}

}  // namespace gyre
