#include <vector>

#include "gyre/autograd/ops.h"
#include "gyre/autograd/ops/composed.h"
#include "gyre/autograd/ops/formula.h"

namespace gyre {

Var composed_dropout(const Var& x, const DropoutMask& mask) {
  if (mask.rate == 0) return x;
  std::vector<double> factors;
  for (int64_t i = 0; i < x.value().size(); ++i) factors.push_back(dropout_factor(mask, i));
  return x * constant_beside(x, x.shape(), factors);
}

namespace {

// Dropout is linear in x, so dx is dropout of dy with the same mask. The mask is not saved: backward draws it again.
struct Dropout final : Op {
  std::string_view formula() const override {
    return R"(
      y = x * keep / (1 - rate)
        dx = dy * keep / (1 - rate)
    )"_formula;
  }
  DropoutMask mask;
  std::string_view name() const override { return "dropout"; }
  void describe(OpMetadata& metadata) const override {
    metadata.attribute("rate", mask.rate);
    metadata.dropout = mask;
  }
  void backward(Backward& b) override { b.kernels().dropout(b.dinput(0), b.doutput(), {}, mask); }
};

Var composed_residual_dropout(const Var& residual, const Var& x, const DropoutMask& mask) {
  return residual + composed_dropout(x, mask);
}

struct ResidualDropout final : Op {
  std::string_view formula() const override {
    return R"(
      y = residual + dropout(x)
        dresidual = dy;  dx = dropout(dy), with the same mask
    )"_formula;
  }
  DropoutMask mask;
  std::string_view name() const override { return "residual_dropout"; }
  void describe(OpMetadata& metadata) const override {
    metadata.attribute("rate", mask.rate);
    metadata.dropout = mask;
  }
  void backward(Backward& b) override {
    b.forward_gradient(0);
    if (const Tensor dx = b.dinput(1)) b.kernels().dropout(dx, b.doutput(), {}, mask);
  }
};

}  // namespace

Var dropout(const Var& x, double rate) {
  const DropoutMask mask = x.tape().next_dropout("dropout", rate);
  if (mask.rate == 0) return x;
  if (!x.tape().fused(&Kernels::dropout_op)) return stored(composed_dropout(widened(x), mask), x.value().dtype());
  auto op = std::make_unique<Dropout>();
  op->mask = mask;
  const Tensor y = x.value().like();
  x.kernels().dropout(y, x.value(), {}, op->mask);
  return x.tape().record(std::move(op), y, {x});
}

Var residual_dropout(const Var& residual, const Var& x, double rate) {
  require(residual.shape() == x.shape(), "[residual_dropout] shapes must be equal, got ", residual.shape(), " and ",
          x.shape());
  const DropoutMask mask = x.tape().next_dropout("residual_dropout", rate);
  if (mask.rate == 0) return add(residual, x);
  if (!x.tape().fused(&Kernels::residual_dropout_op))
    return stored(composed_residual_dropout(widened(residual), widened(x), mask), x.value().dtype());
  auto op = std::make_unique<ResidualDropout>();
  op->mask = mask;
  const Tensor y = x.value().like();
  x.kernels().dropout(y, x.value(), residual.value(), op->mask);
  return x.tape().record(std::move(op), y, {residual, x});
}

}  // namespace gyre
