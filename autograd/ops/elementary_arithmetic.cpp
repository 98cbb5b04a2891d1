// Elementary ops: arithmetic with broadcasting, functions of one element.
#include <algorithm>
#include <span>

#include "gyre/autograd/elementary.h"
#include "gyre/autograd/ops/formula.h"
#include "gyre/autograd/ops/operands.h"

namespace gyre {
namespace {

// The name and the formula of each function of one or two elements.
template <class Function>
struct NamedFormula {
  Function function;
  std::string_view name, formula;
};
constexpr NamedFormula<PairFunction> kPairFunctions[] = {
    {PairFunction::add, "add", "y = a + b\n  da = dy;  db = dy"},
    {PairFunction::subtract, "subtract", "y = a - b\n  da = dy;  db = -dy"},
    {PairFunction::multiply, "multiply", "y = a * b\n  da = dy * b;  db = dy * a"},
    {PairFunction::divide, "divide", "y = a / b\n  da = dy / b;  db = -dy * a / b^2"},
    {PairFunction::maximum, "maximum",
     "y = max(a, b)\n  da = dy ([a > b] + [a = b] / 2);  db = dy ([b > a] + [a = b] / 2)"},
};
constexpr NamedFormula<UnaryFunction> kElementFunctions[] = {
    {UnaryFunction::affine, "scale", "y = factor * x + offset\n  dx = factor * dy"},
    {UnaryFunction::exp, "exp", "y = exp(x)\n  dx = dy exp(x)"},
    {UnaryFunction::log, "log", "y = log(x)\n  dx = dy / x"},
    {UnaryFunction::sin, "sin", "y = sin(x)\n  dx = dy cos(x)"},
    {UnaryFunction::cos, "cos", "y = cos(x)\n  dx = -dy sin(x)"},
    {UnaryFunction::erf, "erf", "y = erf(x)\n  dx = 2 / sqrt(pi) dy exp(-x^2)"},
    {UnaryFunction::relu, "relu", "y = max(x, 0)\n  dx = dy [x > 0]"},
    {UnaryFunction::sigmoid, "sigmoid", "y = 1 / (1 + exp(-x))\n  dx = dy y (1 - y)"},
    {UnaryFunction::power, "pow", "y = x^exponent\n  dx = dy exponent x^(exponent - 1)"},
    {UnaryFunction::round_to_bf16, "as_stored", "y = x rounded to bf16\n  dx = dy rounded to bf16"},
    {UnaryFunction::identity, "cast", "y = x in another dtype\n  dx = dy in the dtype of x"},
};

template <class Function>
const NamedFormula<Function>& find_function(std::span<const NamedFormula<Function>> rows, Function function) {
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const auto& r) { return r.function == function; });
  require(row != rows.end(), "[elementary op] expected a function with a formula");
  return *row;
}

// The gradient of a repeated operand is summed over its repetitions. For a sum, the gradient of an operand in the shape
// and dtype of y is dy itself, without a copy.
struct BinaryOp final : Op {
  std::string_view formula() const override { return find_function<PairFunction>(kPairFunctions, function).formula; }
  PairFunction function = PairFunction::add;
  std::string_view name() const override { return find_function<PairFunction>(kPairFunctions, function).name; }
  void backward(Backward& b) override {
    const auto gradient = [&](int i) -> Tensor {
      const bool like_output = b.input(i).shape() == b.output().shape() && b.input(i).dtype() == b.output().dtype();
      if (!like_output || !(function == PairFunction::add || (function == PairFunction::subtract && i == 0)))
        return b.dinput(i);
      b.forward_gradient(i);
      return {};
    };
    const Tensor da = gradient(0), db = gradient(1);
    if (da || db) b.kernels().binary_backward(da, db, b.doutput(), b.input(0), b.input(1), function);
  }
};

Var binary(PairFunction function, const Var& a, const Var& b) {
  auto op = std::make_unique<BinaryOp>();
  op->function = function;
  require_operands(op->name(), {a, b});
  const DType dtype = dtype_of_pair(op->name(), a.value().dtype(), b.value().dtype());
  const Tensor y = Tensor::empty(broadcast_shape(op->name(), a.shape(), b.shape()), dtype, a.value().device());
  a.kernels().binary(y, a.value(), b.value(), function);
  return a.tape().record(std::move(op), y, {a, b});
}

struct UnaryOp final : Op {
  std::string_view formula() const override {
    return find_function<UnaryFunction>(kElementFunctions, function.kind).formula;
  }
  ElementFunction function;
  Stored stored = Stored::value_and_gradient;  // round_to_bf16 rounds these
  std::string_view name() const override {
    if (function.kind == UnaryFunction::power && function.a == 0.5) return "sqrt";
    return find_function<UnaryFunction>(kElementFunctions, function.kind).name;
  }
  void describe(OpMetadata& metadata) const override {
    if (function.kind == UnaryFunction::power) metadata.attribute("exponent", function.a);
    if (function.kind != UnaryFunction::affine) return;
    metadata.attribute("factor", function.a);
    if (function.b != 0) metadata.attribute("offset", function.b);
  }
  void backward(Backward& b) override {
    switch (function.kind) {
      case UnaryFunction::affine:
        return b.kernels().scale(b.dinput(0), b.doutput(), function.a);
      case UnaryFunction::identity:
        return b.kernels().convert(b.dinput(0), b.doutput());
      case UnaryFunction::round_to_bf16:
        if (stored == Stored::value) return b.forward_gradient(0);
        return b.kernels().unary(b.dinput(0), b.doutput(), function);
      default:
        b.kernels().unary_backward(b.dinput(0), b.doutput(), b.input(0), function);
    }
  }
};

Var unary(const Var& x, const ElementFunction& function) {
  auto op = std::make_unique<UnaryOp>();
  op->function = function;
  require_operands(op->name(), {x});
  const Tensor y = x.value().like();
  x.kernels().unary(y, x.value(), function);
  return x.tape().record(std::move(op), y, {x});
}

}  // namespace

Var add(const Var& a, const Var& b) { return binary(PairFunction::add, a, b); }
Var subtract(const Var& a, const Var& b) { return binary(PairFunction::subtract, a, b); }
Var multiply(const Var& a, const Var& b) { return binary(PairFunction::multiply, a, b); }
Var divide(const Var& a, const Var& b) { return binary(PairFunction::divide, a, b); }
Var maximum(const Var& a, const Var& b) { return binary(PairFunction::maximum, a, b); }

Var affine(const Var& x, double factor, double offset) {
  require_operands(offset == 0 ? "scale" : "affine", {x});
  return unary(x, {UnaryFunction::affine, factor, offset});
}

Var exp(const Var& x) { return unary(x, {UnaryFunction::exp}); }
Var log(const Var& x) { return unary(x, {UnaryFunction::log}); }
Var sqrt(const Var& x) { return unary(x, {UnaryFunction::power, 0.5}); }
Var sin(const Var& x) { return unary(x, {UnaryFunction::sin}); }
Var cos(const Var& x) { return unary(x, {UnaryFunction::cos}); }
Var erf(const Var& x) { return unary(x, {UnaryFunction::erf}); }
Var relu(const Var& x) { return unary(x, {UnaryFunction::relu}); }
Var sigmoid(const Var& x) { return unary(x, {UnaryFunction::sigmoid}); }
Var pow(const Var& x, double exponent) { return unary(x, {UnaryFunction::power, exponent}); }

Var cast(const Var& x, DType dtype) {
  require_operands("cast", {x});
  require(dtype != DType::i32, "[cast] expected f32, f64 or bf16, got i32");
  if (x.value().dtype() == dtype) return x;
  const Tensor y = Tensor::empty(x.shape(), dtype, x.value().device());
  x.kernels().convert(y, x.value());
  return x.tape().record(std::make_unique<UnaryOp>(), y, {x});
}

Var as_stored(const Var& x, Stored what) {
  if (x.value().dtype() != DType::f64 || x.tape().precision() != Precision::bf16) return x;
  auto op = std::make_unique<UnaryOp>();
  op->function = {UnaryFunction::round_to_bf16};
  op->stored = what;
  Tensor y = x.value();
  if (what != Stored::gradient) {
    y = x.value().like();
    x.kernels().unary(y, x.value(), op->function);
  }
  return x.tape().record(std::move(op), y, {x});
}

}  // namespace gyre
