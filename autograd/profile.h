// Where the time of training steps goes: the spans of a timeline added up by op or by module.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "autograd/timeline.h"

namespace gyre {

struct ProfileRow {
  std::string name;
  int64_t calls = 0;  // of an op's forward, or of what is no op
  double forward_seconds = 0, backward_seconds = 0;
  double outside_seconds = 0;  // of what is no op
  double flops = 0;            // of the forward pass (Op::flops)
  double kept_bytes = 0;       // that forward left for backward
  double seconds() const { return forward_seconds + backward_seconds + outside_seconds; }
};

// The most time first.
std::vector<ProfileRow> rows_by_op(const std::vector<Span>& spans);
// Module paths are cut to so many names; what belongs to no module has a row of its own.
std::vector<ProfileRow> rows_by_module(const std::vector<Span>& spans, int depth);

// By node of a tape with so many: seconds of forward and backward together, of one step.
std::vector<double> node_seconds(const std::vector<Span>& spans, size_t nodes);

}  // namespace gyre
