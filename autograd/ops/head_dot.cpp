// Dot product of each head's features with a learned vector per head.
#include "gyre/autograd/ops.h"
#include "gyre/autograd/ops/formula.h"

namespace gyre {
namespace {

struct HeadDot final : Op {
  std::string_view formula() const override {
    return R"(
      y_ih = factor * x_ih . w_h
        dx_ih = factor * dy_ih w_h;  dw_h += factor * sum_i dy_ih x_ih
    )"_formula;
  }
  double factor = 1;
  std::string_view name() const override { return "head_dot"; }
  void describe(OpMetadata& metadata) const override { metadata.attribute("factor", factor); }
  void backward(Backward& b) override {
    b.kernels().head_dot_backward(b.dinput(0), b.dparameter(1), b.doutput(), b.input(0), b.input(1), factor);
  }
};

}  // namespace

Var head_dot(const Var& x, const Var& w, int heads, double factor) {
  require(x.shape().rank() == 2 && w.shape() == Shape{x.shape()[1]} && heads > 0 && w.shape()[0] % heads == 0,
          "[head_dot] expected x(n,d) and w(d) of ", heads, " heads, got ", x.shape(), " and ", w.shape());
  auto op = std::make_unique<HeadDot>();
  op->factor = factor;
  const Tensor y = Tensor::empty({x.shape()[0], heads}, w.value().dtype(), x.value().device());
  x.kernels().head_dot(y, x.value(), w.value(), factor);
  return x.tape().record(std::move(op), y, {x, w});
}

}  // namespace gyre
