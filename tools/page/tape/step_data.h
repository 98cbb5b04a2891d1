// The data of a page that shows a step: a recorded function, its forward and its backward, with the times and the
// memory of each node and with finite differences of the loss.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "gyre/autograd/inspect/tape_rows.h"
#include "gyre/core/io/json.h"
#include "gyre/core/kernels/kernels.h"
#include "tools/page/tape/step_recorder.h"
#include "tools/workload/workload.h"

namespace gyre {

struct NodeCost {
  double forward_seconds = 0, backward_seconds = 0;
  // Memory of tensors beyond that before the step: after the op's forward, after its backward, and once its node is
  // freed. 0 for leaves.
  double after_forward = 0, after_backward = 0, after_release = 0;
};

// The options of the tape whose step is shown and timed. gyre inspect step prints the numbers of rank 0.
inline Tape::Options page_tape_options(Precision precision, int rank = 0) {
  return {.record = true, .training = true, .seed = 1 + uint64_t(rank), .precision = precision};
}

// Runs the step several times: the median times, and the memory of the last run.
std::vector<NodeCost> measure_nodes(const StepFunction& step, Kernels& kernels);

// The derivative of the loss with respect to one element of a value: a central difference in f64.
struct GradientDifference {
  int64_t row = 0, column = 0;
  double value = 0;
};

// The elements of each node's gradient to be measured: the largest ones that the page shows, at most `most` in all, and
// fewer if the forward pass takes many FLOPs.
std::vector<std::vector<int64_t>> elements_to_measure(const std::vector<TapeRow>& rows,
                                                      const std::vector<RecordedNode>& nodes, int64_t most);

// By node. The loss is that of the batch drawn last and of page_tape_options(): dropout has the masks of the step.
// Converts the parameters to f64.
std::vector<std::vector<GradientDifference>> gradient_differences(Workload& work, Kernels& kernels,
                                                                  const std::vector<TapeRow>& rows,
                                                                  const std::vector<RecordedNode>& nodes, int64_t most);

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
