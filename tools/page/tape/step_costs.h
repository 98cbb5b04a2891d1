// Times and memory of a training step without the optimizer, by node of its tape.
#pragma once

#include <cstdint>
#include <vector>

#include "gyre/core/kernels/kernels.h"
#include "tools/page/tape/step_recorder.h"

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

}  // namespace gyre
