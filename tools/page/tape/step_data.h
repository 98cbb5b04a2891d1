// The data of the page of a training step (gyre inspect page).
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "gyre/core/kernels/kernels.h"
#include "tools/workload/workload.h"

namespace gyre {

// Runs a training step of the batch drawn last, and times it. Returns an object:
// - loss (a sum), predictions
// - formulas: op -> text
// - nodes, in tape order: id, op, module, parameter, attributes, inputs, value, gradient, saved, FLOPs, bytes, times
// - steps, in backward order: node, paths, final parameters (RecordedStep)
// - modules: totals of each module, parents first; "" is the whole step
// A tensor is an object of sample_json(). Numbers and names that are absent are left out.
nlohmann::ordered_json step_page_data(const Workload& work, Kernels& kernels, Precision precision);

}  // namespace gyre
