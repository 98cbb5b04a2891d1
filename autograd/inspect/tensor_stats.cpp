#include "gyre/autograd/inspect/tensor_stats.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gyre/core/error.h"
#include "gyre/core/float16.h"

namespace gyre {
namespace {

// Calls f with a span of the tensor's elements.
template <class F>
auto with_numbers(const Tensor& tensor, F&& f) {
  const Tensor t = tensor.to_cpu();
  switch (t.dtype()) {
    case DType::f32:
      return f(t.span<float>());
    case DType::f64:
      return f(t.span<double>());
    case DType::bf16:
      return f(t.span<bfloat16>());
    case DType::i32:
      break;
  }
  return f(t.span<int32_t>());
}

template <class T>
TensorStats numbers_in(std::span<T> all) {
  TensorStats n;
  n.min = std::numeric_limits<double>::infinity();
  n.max = -n.min;
  double squares = 0;
  for (const T& number : all) {
    const auto x = double(number);
    n.nan += std::isnan(x) ? 1 : 0;
    n.infinite += std::isinf(x) ? 1 : 0;
    if (!std::isfinite(x)) continue;
    n.min = std::min(n.min, x);
    n.max = std::max(n.max, x);
    squares += x * x;
  }
  n.norm = std::sqrt(squares);
  return n;
}

}  // namespace

TensorStats compute_stats(const Tensor& tensor) {
  return with_numbers(tensor, [](auto all) { return numbers_in(all); });
}

bool all_finite(const Tensor& tensor) {
  return with_numbers(tensor, [](auto all) {
    return std::all_of(all.begin(), all.end(), [](auto x) { return std::isfinite(double(x)); });
  });
}

std::string describe_stats(const Tensor& tensor) { return describe_stats(tensor.shape(), compute_stats(tensor)); }

std::string describe_stats(const Shape& shape, const TensorStats& n) {
  const std::string range = n.min <= n.max ? concat(" in [", n.min, ", ", n.max, "]") : std::string(" none");
  if (n.finite()) return concat(shape, ", all", range);
  return concat(shape, " with ", n.nan, " NaN and ", n.infinite, " infinite, the others", range);
}

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
