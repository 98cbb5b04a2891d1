#include "autograd/ops.h"
#include "autograd/ops/formula.h"

namespace gyre {
namespace {

struct LinearActivation final : Op {
  std::string_view formula() const override {
    return R"(
      y = keep act(pre),  pre = x w^T + bias,  keep the factors of dropout (1 without)
        dpre = keep act'(pre) dy;  dx = dpre w;  dw += dpre^T x;  dbias += sum_rows(dpre)
    )"_formula;
  }
  Activation kind = Activation::relu;
  DropoutMask mask;
  Tensor pre;  // saved, but for relu, which finds keep act'(pre) in y
  double multiply_adds = 0;
  std::string_view name() const override {
    constexpr std::string_view names[] = {"linear_relu", "linear_gelu", "linear_tanh"};
    return names[size_t(kind)];
  }
  double flops() const override { return 2 * multiply_adds; }
  void describe(OpFacts& facts) const override {
    if (mask.rate > 0) facts.attribute("dropout", mask.rate);
    facts.save("pre", pre);
  }
  void backward(Backward& b) override {
    const Tensor& saved = kind == Activation::relu ? b.output() : pre;
    b.kernels().linear_activation_backward(b.dinput(0), b.dparameter(1), b.dparameter(2), b.doutput(), b.input(0),
                                           b.input(1), saved, kind, mask);
  }
};

}  // namespace

Var linear_activation(const Var& x, const Var& w, const Var& bias, Activation kind, double rate) {
  require(x.shape().rank() == 2 && w.shape().rank() == 2 && x.shape()[1] == w.shape()[1],
          "[linear_activation] expected x(n,d) and w(o,d), got ", x.shape().text(), " and ", w.shape().text());
  require(bias.shape() == Shape{w.shape()[0]}, "[linear_activation] the bias must be (", w.shape()[0], "), got ",
          bias.shape().text());
  auto op = std::make_unique<LinearActivation>();
  op->kind = kind;
  op->mask = x.tape().next_dropout(rate);
  op->multiply_adds = double(x.value().size()) * double(w.shape()[0]);
  const Tensor y = Tensor::empty({x.shape()[0], w.shape()[0]}, x.value().dtype(), x.value().device());
  if (kind != Activation::relu) op->pre = y.like();
  x.kernels().linear_activation(y, op->pre, x.value(), w.value(), bias.value(), kind, op->mask);
  return x.tape().record(std::move(op), y, {x, w, bias});
}

}  // namespace gyre
