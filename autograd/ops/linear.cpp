#include "autograd/ops.h"

namespace gyre {
namespace {

// y = x w^T + bias.   dx = dy w;  dw += dy^T x;  dbias += sum_rows(dy)
struct Linear final : Op {
  bool has_bias = false;
  double multiply_adds = 0;
  std::string_view name() const override { return "linear"; }
  double flops() const override { return 2 * multiply_adds; }
  void backward(Backward& b) override {
    const Tensor dbias = has_bias ? b.dparameter(2) : Tensor();
    b.kernels().linear_backward(b.dinput(0), b.dparameter(1), dbias, b.doutput(), b.input(0), b.input(1));
  }
};

}  // namespace

Var linear(const Var& x, const Var& w, const Var& bias) {
  require(x.shape().rank() == 2 && w.shape().rank() == 2 && x.shape()[1] == w.shape()[1],
          "[linear] expected x(n,d) and w(o,d), got ", x.shape().text(), " and ", w.shape().text());
  require(!bias || bias.shape() == Shape{w.shape()[0]}, "[linear] the bias must be (", w.shape()[0], "), got ",
          bias ? bias.shape().text() : "");
  auto op = std::make_unique<Linear>();
  op->has_bias = bool(bias);
  op->multiply_adds = double(x.value().size()) * double(w.shape()[0]);
  const Tensor y = Tensor::empty({x.shape()[0], w.shape()[0]}, x.value().dtype(), x.value().device());
  x.kernels().linear(y, x.value(), w.value(), bias ? bias.value() : Tensor());
  return bias ? x.tape().record(std::move(op), y, {x, w, bias}) : x.tape().record(std::move(op), y, {x, w});
}

}  // namespace gyre
