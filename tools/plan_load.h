// What a model takes, measured on this machine: a small batch goes forward and backward once.
#pragma once

#include "tools/plan.h"
#include "tools/workload.h"

namespace gyre {

// parameters, last_parameters, tables, flops_per_token and activations_per_token of the load; the rest is the recipe's.
// rows_apart: whether lookups travel apart from their tables.
PlanLoad measure_load(const Workload& work, Parameters& parameters, Kernels& kernels, Precision precision,
                      int64_t tokens, bool rows_apart);

// flops and memory of the rates, with all threads: the median of some steps; the machine's bandwidth.
PlanRates measure_rates(const Workload& work, Parameters& parameters, Kernels& kernels, Precision precision);

}  // namespace gyre
