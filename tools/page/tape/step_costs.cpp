#include "tools/page/tape/step_costs.h"

#include "gyre/autograd/inspect/timeline.h"
#include "tools/workload/bench_metrics.h"
#include "tools/workload/device.h"

namespace gyre {
namespace {

constexpr int kTimedSteps = 5;

struct TimedStep {
  std::vector<Span> spans;
  size_t nodes = 0;
};

TimedStep time_step(const StepFunction& step, Kernels& kernels) {
  Timeline timeline(device_probe(kernels.device()));
  Tape tape(kernels, step.tape);
  tape.add_observer(timeline);
  timeline.restart();
  const Var result = step.record(tape);
  timeline.restart();
  tape.backward(result, step.cotangent);
  timeline.mark(Timeline::kOther);  // the node that was visited last is freed by now
  return {timeline.spans(), tape.nodes().size()};
}

std::vector<NodeCost> costs_of(const TimedStep& step) {
  std::vector<NodeCost> costs(step.nodes);
  const double start = step.spans.empty() ? 0 : double(step.spans.front().before);
  NodeCost* last = nullptr;  // the node whose backward ended before the span
  for (const Span& span : step.spans) {
    const double after = double(span.after) - start;
    if (span.node < 0) {
      if (last) last->after_release = after;
      last = nullptr;
      continue;
    }
    NodeCost& cost = costs.at(size_t(span.node));
    const bool backward = span.kind == Span::Kind::backward;
    (backward ? cost.backward_seconds : cost.forward_seconds) += span.seconds();
    (backward ? cost.after_backward : cost.after_forward) = after;
    last = backward ? &cost : nullptr;
  }
  return costs;
}

}  // namespace

std::vector<NodeCost> measure_nodes(const StepFunction& step, Kernels& kernels) {
  time_step(step, kernels);  // warm-up, which allocates the gradients of the parameters
  std::vector<std::vector<NodeCost>> runs;
  for (int i = 0; i < kTimedSteps; ++i) runs.push_back(costs_of(time_step(step, kernels)));
  std::vector<NodeCost> costs = runs.back();
  for (size_t node = 0; node < costs.size(); ++node) {
    std::vector<double> forward, backward;
    for (const std::vector<NodeCost>& run : runs) {
      forward.push_back(run[node].forward_seconds);
      backward.push_back(run[node].backward_seconds);
    }
    costs[node].forward_seconds = median(forward);
    costs[node].backward_seconds = median(backward);
  }
  return costs;
}

}  // namespace gyre
