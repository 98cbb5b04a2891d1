#include "gyre/autograd/inspect/nan_finder.h"

#include "gyre/autograd/inspect/tensor_stats.h"
#include "gyre/core/error.h"

namespace gyre {
namespace {

std::string place(const Node& node) {
  return node.module.empty() ? std::string(node.name()) : concat(node.name(), " in ", node.module);
}

std::string describe_inputs(const Node& node) {
  std::string text;
  for (size_t i = 0; i < node.input_values.size(); ++i) {
    if (node.input_values[i]) text += concat("; input ", i, ": ", describe_stats(node.input_values[i]));
  }
  return text;
}

}  // namespace

void NanFinder::on_record(const Tape& tape, int number) {
  const Node& node = tape.nodes()[size_t(number)];
  // Backward records checkpoints again from last to first, so the last one with a non-finite value was the first.
  const bool is_inside = tape.recomputing() && of_checkpoint_ && !found_inside_;
  if ((!report_.empty() && !is_inside) || all_finite(node.value)) return;
  of_checkpoint_ = of_checkpoint_ || node.name() == "checkpoint";
  found_inside_ = tape.recomputing();
  report_ = concat("forward: ", place(node), " gives ", describe_stats(node.value), describe_inputs(node));
}

void NanFinder::after_backward(const Tape& tape, int number) {
  found_inside_ = false;
  if (!report_.empty()) return;
  const Node& node = tape.nodes()[size_t(number)];
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] < 0) continue;
    const Node& input = tape.nodes()[size_t(node.inputs[i])];
    const Tensor& gradient = input.accumulated_gradient();
    if (!gradient || all_finite(gradient)) continue;
    report_ = concat("backward: ", place(node), " gives its input ", i,
                     input.parameter ? concat(" (", input.parameter->name, ")") : "", " the gradient ",
                     describe_stats(gradient), "; from ", describe_stats(node.gradient), describe_inputs(node));
    return;
  }
}

}  // namespace gyre
