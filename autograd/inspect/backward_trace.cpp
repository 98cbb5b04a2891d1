#include "gyre/autograd/inspect/backward_trace.h"

#include "gyre/autograd/inspect/tensor_stats.h"

namespace gyre {

void BackwardTrace::before_backward(const Tape& tape, int number) {
  const Node& node = tape.nodes()[size_t(number)];
  BackwardStep& step = steps_.emplace_back();
  step.node = number;
  step.op = node.name();
  step.module = node.module;
  step.formula = node.op->formula();
  node.op->describe(step.metadata);
  step.output = node.value;
  step.doutput = node.gradient.clone();
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    BackwardStep::Input& input = step.inputs.emplace_back();
    input.node = node.inputs[i];
    input.value = node.input_values[i];
    if (input.node < 0) continue;
    const Node& from = tape.nodes()[size_t(input.node)];
    input.name = from.parameter ? from.parameter->name : std::string(from.name());
  }
}

// Clones the gradients, because later steps add to the same tensors.
void BackwardTrace::after_backward(const Tape& tape, int) {
  for (BackwardStep::Input& input : steps_.back().inputs) {
    if (input.node < 0) continue;
    const Tensor& gradient = tape.nodes()[size_t(input.node)].accumulated_gradient();
    if (gradient) input.gradient = gradient.clone();
  }
}

std::string non_finite_part(const BackwardStep& step) {
  const auto bad = [](const Tensor& t) { return t && !all_finite(t); };
  for (size_t i = 0; i < step.inputs.size(); ++i)
    if (bad(step.inputs[i].value)) return concat("input ", i);
  if (bad(step.output)) return "output";
  if (bad(step.doutput)) return "doutput";
  for (size_t i = 0; i < step.inputs.size(); ++i)
    if (bad(step.inputs[i].gradient)) return concat("gradient of input ", i);
  return {};
}

}  // namespace gyre
