// Activations and gated activations.
#include <cmath>
#include <numbers>

#include "gyre/autograd/ops.h"
#include "gyre/autograd/ops/composed.h"
#include "gyre/autograd/ops/formula.h"
#include "gyre/autograd/ops/operands.h"

namespace gyre {

// relu() is the elementary function. tanh(), which is the fused op, is a sigmoid of twice the size.
Var composed_activation(const Var& x, Activation kind) {
  const auto at_least = [&](const Var& v, double bound) { return maximum(v, number_beside(v, bound)); };
  const auto at_most = [&](const Var& v, double bound) { return -at_least(-v, -bound); };
  const auto tanh_of = [](const Var& v) { return 2 * sigmoid(2 * v) - 1; };
  switch (kind) {
    case Activation::relu:
      return relu(x);
    case Activation::gelu:
      return 0.5 * x * (1 + erf(x / std::numbers::sqrt2));
    case Activation::tanh:
      return tanh_of(x);
    case Activation::silu:
      return x * sigmoid(x);
    case Activation::gelu_tanh:
      return 0.5 * x * (1 + tanh_of(std::sqrt(2 / std::numbers::pi) * (x + kGeluTanhCubic * x * x * x)));
    case Activation::elu_plus_one:
      return at_least(x, 0) + exp(at_most(x, 0));
    case Activation::relu_plus:
      return relu(x) + kReluPlusOffset;
    case Activation::bounded_exp:
      return exp(at_most(x, kMaxExponent));
  }
  return x;
}

namespace {

struct ActivationOp final : Op {
  std::string_view formula() const override {
    switch (kind) {
      case Activation::relu:
        return "y = max(x, 0)\n  dx = dy [x > 0]";
      case Activation::gelu:
        return "y = x Phi(x), Phi the CDF of the normal distribution\n  dx = dy (Phi(x) + x phi(x)), phi its density";
      case Activation::tanh:
        return "y = tanh(x)\n  dx = dy (1 - y^2)";
      case Activation::silu:
        return "y = x s,  s = 1 / (1 + exp(-x))\n  dx = dy s (1 + x (1 - s))";
      case Activation::gelu_tanh:
        return "y = x / 2 (1 + t),  t = tanh(sqrt(2/pi) (x + 0.044715 x^3))\n  dx = dy y', y' by the product rule";
      case Activation::elu_plus_one:
        return "y = x + 1 for x > 0, else exp(x)\n  dx = dy for x > 0, else dy exp(x)";
      case Activation::relu_plus:
        return "y = max(x, 0) + 0.001\n  dx = dy [x > 0]";
      case Activation::bounded_exp:
        return "y = exp(min(x, 60))\n  dx = dy y [x < 60]";
    }
    return "";
  }
  Activation kind = Activation::relu;
  std::string_view name() const override { return to_string(kind); }
  void backward(Backward& b) override { b.kernels().activation_backward(b.dinput(0), b.doutput(), b.input(0), kind); }
};

// x = [gate | value]
Var composed_gated_activation(const Var& x, Activation kind) {
  const int64_t f = x.shape()[1] / 2;
  return composed_activation(slice(x, 1, 0, f), kind) * slice(x, 1, f, f);
}

struct GatedActivation final : Op {
  std::string_view formula() const override {
    return R"(
      y = act(gate) * value,  x = [gate | value]
        dgate = dy * value * act'(gate);  dvalue = dy * act(gate)
    )"_formula;
  }
  Activation kind = Activation::silu;
  std::string_view name() const override { return "gated_activation"; }
  void describe(OpMetadata& metadata) const override { metadata.attribute("act", to_string(kind)); }
  void backward(Backward& b) override {
    b.kernels().gated_activation_backward(b.dinput(0), b.doutput(), b.input(0), kind);
  }
};

}  // namespace

Var activation(const Var& x, Activation kind) {
  if (!x.tape().fused(&Kernels::activation_op)) return stored(composed_activation(widened(x), kind), x.value().dtype());
  auto op = std::make_unique<ActivationOp>();
  op->kind = kind;
  const Tensor y = x.value().like();
  x.kernels().activation(y, x.value(), kind);
  return x.tape().record(std::move(op), y, {x});
}

Var tanh(const Var& x) {
  require_operands("tanh", {x});
  return activation(x, Activation::tanh);
}

Var gated_activation(const Var& x, Activation kind) {
  require(x.shape().rank() == 2 && x.shape()[1] % 2 == 0, "[gated_activation] expected x(n, 2 * f), got ", x.shape());
  if (!x.tape().fused(&Kernels::gated_activation_op))
    return stored(composed_gated_activation(widened(x), kind), x.value().dtype());
  auto op = std::make_unique<GatedActivation>();
  op->kind = kind;
  const Tensor y = Tensor::empty({x.shape()[0], x.shape()[1] / 2}, x.value().dtype(), x.value().device());
  x.kernels().gated_activation(y, x.value(), kind);
  return x.tape().record(std::move(op), y, {x});
}

}  // namespace gyre
