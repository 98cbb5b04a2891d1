// Ops on each element: add, scale, activations, gated activations.
#include "gyre/autograd/ops.h"
#include "gyre/autograd/ops/formula.h"

namespace gyre {
namespace {

// The gradients of both inputs are dy itself, without a copy.
struct Add final : Op {
  std::string_view formula() const override {
    return R"(
      y = a + b
        da = dy;  db = dy
    )"_formula;
  }
  std::string_view name() const override { return "add"; }
  void backward(Backward& b) override {
    b.forward_gradient(0);
    b.forward_gradient(1);
  }
};

struct Scale final : Op {
  std::string_view formula() const override {
    return R"(
      y = factor * x
        dx = factor * dy
    )"_formula;
  }
  double factor = 1;
  std::string_view name() const override { return "scale"; }
  void describe(OpMetadata& metadata) const override { metadata.attribute("factor", factor); }
  void backward(Backward& b) override { b.kernels().scale(b.dinput(0), b.doutput(), factor); }
};

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

Var add(const Var& a, const Var& b) {
  require(a.shape() == b.shape(), "[add] shapes must be equal, got ", a.shape(), " and ", b.shape());
  const Tensor y = a.value().like();
  a.kernels().add(y, a.value(), b.value());
  return a.tape().record(std::make_unique<Add>(), y, {a, b});
}

Var scale(const Var& x, double factor) {
  auto op = std::make_unique<Scale>();
  op->factor = factor;
  const Tensor y = x.value().like();
  x.kernels().scale(y, x.value(), factor);
  return x.tape().record(std::move(op), y, {x});
}

Var activation(const Var& x, Activation kind) {
  auto op = std::make_unique<ActivationOp>();
  op->kind = kind;
  const Tensor y = x.value().like();
  x.kernels().activation(y, x.value(), kind);
  return x.tape().record(std::move(op), y, {x});
}

Var gated_activation(const Var& x, Activation kind) {
  require(x.shape().rank() == 2 && x.shape()[1] % 2 == 0, "[gated_activation] expected x(n, 2 * f), got ", x.shape());
  auto op = std::make_unique<GatedActivation>();
  op->kind = kind;
  const Tensor y = Tensor::empty({x.shape()[0], x.shape()[1] / 2}, x.value().dtype(), x.value().device());
  x.kernels().gated_activation(y, x.value(), kind);
  return x.tape().record(std::move(op), y, {x});
}

}  // namespace gyre
