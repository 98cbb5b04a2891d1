#include "autograd/nan_finder.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/bfloat16.h"
#include "core/error.h"

namespace gyre {
namespace {

struct Numbers {
  int64_t nan = 0, infinite = 0;
  double least = std::numeric_limits<double>::infinity(), most = -least;

  template <class T>
  explicit Numbers(std::span<T> all) {
    for (const T& number : all) {
      const auto x = double(number);
      nan += std::isnan(x) ? 1 : 0;
      infinite += std::isinf(x) ? 1 : 0;
      if (!std::isfinite(x)) continue;
      least = std::min(least, x);
      most = std::max(most, x);
    }
  }
};

// f(span) of the tensor's elements.
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

std::string place(const Node& node) {
  return node.module.empty() ? std::string(node.name()) : concat(node.name(), " in ", node.module);
}

std::string describe_inputs(const Node& node) {
  std::string text;
  for (size_t i = 0; i < node.input_values.size(); ++i) {
    if (node.input_values[i]) text += concat("; input ", i, ": ", describe_numbers(node.input_values[i]));
  }
  return text;
}

}  // namespace

std::string describe_numbers(const Tensor& tensor) {
  const Numbers n = with_numbers(tensor, [](auto all) { return Numbers(all); });
  const std::string range = n.least <= n.most ? concat(" in [", n.least, ", ", n.most, "]") : std::string(" none");
  if (n.nan + n.infinite == 0) return concat(tensor.shape().text(), ", all", range);
  return concat(tensor.shape().text(), " with ", n.nan, " NaN and ", n.infinite, " infinite, the others", range);
}

bool all_finite(const Tensor& tensor) {
  return with_numbers(tensor, [](auto all) {
    return std::all_of(all.begin(), all.end(), [](auto x) { return std::isfinite(double(x)); });
  });
}

void NanFinder::on_record(const Tape& tape, int number) {
  const Node& node = tape.nodes()[size_t(number)];
  if (!report_.empty() || all_finite(node.value)) return;
  report_ = concat("forward: ", place(node), " gives ", describe_numbers(node.value), describe_inputs(node));
}

void NanFinder::after_backward(const Tape& tape, int number) {
  if (!report_.empty()) return;
  const Node& node = tape.nodes()[size_t(number)];
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] < 0) continue;
    const Node& input = tape.nodes()[size_t(node.inputs[i])];
    const Tensor& gradient = input.parameter ? input.parameter->gradient : input.gradient;
    if (!gradient || all_finite(gradient)) continue;
    report_ = concat("backward: ", place(node), " gives its input ", i,
                     input.parameter ? concat(" (", input.parameter->name, ")") : "", " the gradient ",
                     describe_numbers(gradient), "; from ", describe_numbers(node.gradient), describe_inputs(node));
    return;
  }
}

}  // namespace gyre
