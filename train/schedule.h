// The learning rate as a pure function of the update number: nothing to save, nothing to restore.
#pragma once

#include <cstdint>

#include "train/options.h"

namespace gyre {

// The rate of the update that follows n finished ones (fairseq's num_updates; the first update has n = 0).
//   n < W:         initial + n (lr - initial) / W               warm-up, all schedules
//   inverse-sqrt:  lr sqrt(W) / sqrt(n)                          W = max(warmup, 1)
//   linear:        lr (total - n) / (total - W), then 0
//   constant:      lr
// After the warm-up the rate is never below minimum_rate.
double learning_rate(const OptimizerOptions& options, uint64_t n);

}  // namespace gyre
