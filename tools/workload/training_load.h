// The cost of a training job with given options, for gyre plan and gyre data check.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "gyre/train/options.h"
#include "tools/workload/gpu_forecast.h"
#include "tools/workload/plan.h"
#include "tools/workload/workload.h"

namespace gyre {

// Number of items of `item_tokens` tokens, on all sides, in the batch that training_load() measures.
int measured_items(double item_tokens);

// The cost of the model by one batch of measured_items(item_tokens) on `kernels`, and the batch size, the optimizer and
// the exchange of the options. device: that of the training. sides: of an item that pass through the model.
PlanLoad training_load(Workload& work, const TrainOptions& options, Kernels& kernels, Device device,
                       Precision precision, double item_tokens, double sides);

struct MachineLoad {
  PlanLoad load;
  PlanRates rates;
};
// The cost on this machine, with the --device of the options. For CPUs, the virtual GPU counts the work, so that the
// model is never allocated nor computed, and the rates follow from a few measured products. Rates that are given
// (flops, memory) are not measured. Writes a note about a measurement to standard error.
MachineLoad machine_load(const MakeBatch& make, const TrainOptions& options, double item_tokens, double sides,
                         const PlanRates& given);

// The kind of GPUs to plan for with this --device, or nullptr for a device of this machine. Throws a UsageError for any
// other name.
const GpuModel* planned_gpu(const std::string& device);

}  // namespace gyre
