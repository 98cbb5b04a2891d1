// Measures the cost of a model on this machine with a small batch.
#pragma once

#include "tools/workload/plan.h"
#include "tools/workload/workload.h"

namespace gyre {

// Returns a load with parameters, last_parameters, tables, flops_per_token and activations_per_token; the caller sets
// the other fields. sparse_rows: whether gradients of lookups are sent as sparse rows, apart from their tables.
PlanLoad measure_load(const Workload& work, Parameters& parameters, Kernels& kernels, Precision precision,
                      int64_t tokens, bool sparse_rows);

// Returns rates with flops (the median of a few steps) and memory (the machine's bandwidth), measured with all threads.
PlanRates measure_rates(const Workload& work, Parameters& parameters, Kernels& kernels, Precision precision);

}  // namespace gyre
