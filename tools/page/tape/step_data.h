// The data of a page that shows a step: a recorded function, its forward and its backward.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "gyre/autograd/inspect/tape_rows.h"
#include "gyre/core/io/json.h"
#include "gyre/core/kernels/kernels.h"
#include "tools/page/tape/gradient_differences.h"
#include "tools/page/tape/step_costs.h"
#include "tools/page/tape/step_recorder.h"

namespace gyre {

// A step that was run, with its costs.
struct StepData {
  std::vector<TapeRow> rows;
  SampleLimits limits;                                       // limits of the tensors
  std::vector<RecordedNode> nodes;                           // nodes in tape order, like the rows
  std::vector<RecordedStep> steps;                           // steps in backward order
  std::vector<NodeCost> costs;                               // cost of each node; empty if it was not measured
  std::map<int, std::string> names;                          // names of leaves that are no parameters, by node
  std::vector<std::vector<GradientDifference>> differences;  // differences by node; empty if they were not measured
};

// Runs a step, and samples its tensors so that the page has a size near 3 MB. ranks: how many gradients of each
// parameter the page has.
StepData record_step(const StepFunction& step, Kernels& kernels, int ranks = 1);

// Returns an object:
// - formulas: op -> text
// - nodes, in tape order: id, op, module, parameter or name, attributes, inputs, value, gradient, differences, saved,
//   computed, FLOPs, bytes, times
// - steps, in backward order: node, paths, final parameters (RecordedStep)
// - modules: totals of each module, parents first; "" is the whole step
// A tensor is an object of sample_json(). Numbers and names that are absent are left out.
Json step_json(const StepData& step);

}  // namespace gyre
