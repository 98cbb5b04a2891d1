// The cost of a model in training steps, from a small batch.
#pragma once

#include "tools/workload/plan.h"
#include "tools/workload/workload.h"

namespace gyre {

// Runs forward and backward of the batch that was drawn last. Returns the FLOPs of both (kTrainingFlopsFactor).
double run_step(const Workload& work, Kernels& kernels, Precision precision, TapeObserver* observer);

// Returns a load with parameters, last_parameters, tables, flops_per_token and activations_per_token; the caller sets
// the other fields. sparse_rows: whether gradients of lookups are sent as sparse rows, apart from their tables. On the
// virtual GPU, this counts without computing, and a model of any size needs no memory.
PlanLoad measure_load(const Workload& work, Parameters& parameters, Kernels& kernels, Precision precision,
                      int64_t tokens, bool sparse_rows);

// The FLOP/s of the model: the median of a few steps.
double measure_step_flops(const Workload& work, Kernels& kernels, Precision precision);

}  // namespace gyre
