#include "gyre/autograd/ops.h"
#include "gyre/autograd/ops/formula.h"
#include "gyre/autograd/ops/loss_sums.h"

namespace gyre {
namespace {

struct MarginLoss final : Op {
  std::string_view formula() const override {
    return R"(
      loss = sum over pairs of max(0, margin - a + b)
        da = -dloss, db = dloss   where margin - a + b > 0, else 0
    )"_formula;
  }
  double margin = 0;
  std::string_view name() const override { return "margin_loss"; }
  void describe(OpMetadata& metadata) const override { metadata.attribute("margin", margin); }
  void backward(Backward& b) override {
    b.kernels().margin_loss_backward(b.dinput(0), b.input(0), margin, loss_cotangent(b));
  }
};

}  // namespace

LossResult margin_loss(const Var& scores, double margin) {
  const Shape& shape = scores.shape();
  require((shape.rank() == 1 || (shape.rank() == 2 && shape[1] == 1)) && shape[0] % 2 == 0,
          "[margin_loss] scores must be (2n) or (2n,1), got ", shape);
  auto op = std::make_unique<MarginLoss>();
  op->margin = margin;
  const Tensor& x = scores.value();
  const Tensor all = zero_sums(x);
  scores.kernels().margin_loss(all, x, margin);
  return {scores.tape().record(std::move(op), loss_scalar(all), {scores}), all, x.size() / 2};
}

}  // namespace gyre
