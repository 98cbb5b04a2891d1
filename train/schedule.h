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

// The options with the total updates and the warm-up as numbers of updates: a run that ends at `after`, with so many
// updates an epoch. Throws UsageError where the warm-up would take all of them.
OptimizerOptions resolve_schedule(OptimizerOptions options, const Period& after, uint64_t updates_per_epoch);

}  // namespace gyre
