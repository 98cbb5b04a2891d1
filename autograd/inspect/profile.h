// Profile of training steps: the spans of a timeline, summed by op or by module.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gyre/autograd/inspect/timeline.h"

namespace gyre {

struct ProfileRow {
  std::string name;
  int64_t calls = 0;  // forward calls of an op, or spans outside ops
  // An op in a checkpoint is part of the op "checkpoint" in forward. Backward includes its recomputation.
  double forward_seconds = 0, backward_seconds = 0;
  double outside_seconds = 0;  // time of spans outside ops
  double flops = 0;            // FLOPs of the forward pass (Op::flops)
  double kept_bytes = 0;       // growth of tensor memory in forward: tensors kept for backward
  double seconds() const { return forward_seconds + backward_seconds + outside_seconds; }
};

// rows_by_op() and rows_by_module() sort the rows by decreasing time.
std::vector<ProfileRow> rows_by_op(const std::vector<Span>& spans);
// Truncates module paths to `depth` names. Spans without a module are grouped by their own name.
std::vector<ProfileRow> rows_by_module(const std::vector<Span>& spans, int depth);

// Seconds of forward plus backward of one step, by node of a tape with `nodes` nodes.
std::vector<double> node_seconds(const std::vector<Span>& spans, size_t nodes);

}  // namespace gyre
