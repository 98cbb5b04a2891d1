#include "autograd/ops.h"

namespace gyre {
namespace {

// y = a + b: both gradients are dy itself.
struct Add final : Op {
  std::string_view name() const override { return "add"; }
  void backward(Backward& b) override {
    b.pass(0);
    b.pass(1);
  }
};

// y = factor * x;  dx = factor * dy
struct Scale final : Op {
  double factor = 1;
  std::string_view name() const override { return "scale"; }
  void backward(Backward& b) override { b.kernels().scale(b.dinput(0), b.doutput(), factor); }
};

// relu: dx = dy [x > 0].   gelu = x Phi(x): dx = dy (Phi(x) + x phi(x)).   tanh: dx = dy (1 - tanh(x)^2)
struct ActivationOp final : Op {
  Activation kind = Activation::relu;
  std::string_view name() const override { return activation_name(kind); }
  void backward(Backward& b) override { b.kernels().activation_backward(b.dinput(0), b.doutput(), b.input(0), kind); }
};

}  // namespace

Var add(const Var& a, const Var& b) {
  require(a.shape() == b.shape(), "[add] shapes must be equal, got ", a.shape().text(), " and ", b.shape().text());
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

}  // namespace gyre
