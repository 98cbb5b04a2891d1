// The cost of a training job with given options, for gyre plan and gyre data check.
#pragma once

#include "gyre/train/options.h"
#include "tools/workload/gpu/gpu_model.h"
#include "tools/workload/plan.h"
#include "tools/workload/workload.h"

namespace gyre {

// Number of items of `item_tokens` tokens, on all sides, in the batch that training_load() measures.
int measured_items(double item_tokens);

// Measures the model with one batch of measured_items(item_tokens), and takes the batch size, the optimizer and the
// exchange from the options. sides: of an item that pass through the model.
PlanLoad training_load(Workload& work, const TrainOptions& options, Kernels& kernels, Precision precision,
                       double item_tokens, double sides);

// The kind of GPUs to plan for with this --device, or nullptr for a device of this machine. Throws a UsageError for any
// other name.
const GpuModel* planned_gpu(const std::string& device);

}  // namespace gyre
