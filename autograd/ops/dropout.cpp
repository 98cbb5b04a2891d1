#include "autograd/ops.h"
#include "autograd/ops/formula.h"

namespace gyre {
namespace {

// Linear in x, so dx is dropout of dy by the same mask, which is drawn again.
struct Dropout final : Op {
  std::string_view formula() const override {
    return R"(
      y = x * keep / (1 - rate)
        dx = dy * keep / (1 - rate)
    )"_formula;
  }
  DropoutMask mask;
  std::string_view name() const override { return "dropout"; }
  void describe(OpFacts& facts) const override { facts.attribute("rate", mask.rate); }
  void backward(Backward& b) override { b.kernels().dropout(b.dinput(0), b.doutput(), {}, mask); }
};

struct ResidualDropout final : Op {
  std::string_view formula() const override {
    return R"(
      y = residual + dropout(x)
        dresidual = dy;  dx = dropout(dy), by the same mask
    )"_formula;
  }
  DropoutMask mask;
  std::string_view name() const override { return "residual_dropout"; }
  void describe(OpFacts& facts) const override { facts.attribute("rate", mask.rate); }
  void backward(Backward& b) override {
    b.pass(0);
    if (const Tensor dx = b.dinput(1)) b.kernels().dropout(dx, b.doutput(), {}, mask);
  }
};

void check_rate(std::string_view op, double rate) {
  require(rate >= 0 && rate < 1, "[", op, "] the rate must be at least 0 and below 1, got ", rate);
}

}  // namespace

Var dropout(const Var& x, double rate) {
  check_rate("dropout", rate);
  if (!x.tape().training() || rate == 0) return x;
  auto op = std::make_unique<Dropout>();
  op->mask = x.tape().next_dropout(rate);
  const Tensor y = x.value().like();
  x.kernels().dropout(y, x.value(), {}, op->mask);
  return x.tape().record(std::move(op), y, {x});
}

Var residual_dropout(const Var& residual, const Var& x, double rate) {
  check_rate("residual_dropout", rate);
  require(residual.shape() == x.shape(), "[residual_dropout] shapes must be equal, got ", residual.shape().text(),
          " and ", x.shape().text());
  if (!x.tape().training() || rate == 0) return add(residual, x);
  auto op = std::make_unique<ResidualDropout>();
  op->mask = x.tape().next_dropout(rate);
  const Tensor y = x.value().like();
  x.kernels().dropout(y, x.value(), residual.value(), op->mask);
  return x.tape().record(std::move(op), y, {residual, x});
}

}  // namespace gyre
