// The data of the page of a training step (gyre inspect page).
#pragma once

#include <cstdint>

#include "gyre/core/io/json.h"
#include "gyre/core/kernels/kernels.h"
#include "gyre/train/parallel/communicator.h"
#include "tools/workload/workload.h"

namespace gyre {

struct TrainingStepOptions {
  Precision precision = Precision::fp32;
  int64_t differences = 0;  // most elements of gradients to compare with finite differences
  double bucket_mb = 0;     // size of the all-reduce's buckets, with several ranks
};

// Collective. Runs a training step of the batch drawn last. Returns on rank 0 the object of step_json() with the loss,
// which is a sum, and the number of predictions, and with several ranks that of ranks_page_data(). Returns null on the
// others. Finite differences convert the parameters to f64.
Json training_step_json(Workload& work, Kernels& kernels, const TrainingStepOptions& options, Communicator& ranks);

}  // namespace gyre
