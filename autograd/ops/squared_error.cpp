#include "gyre/autograd/ops.h"
#include "gyre/autograd/ops/formula.h"
#include "gyre/autograd/ops/loss_sums.h"

namespace gyre {
namespace {

struct SquaredError final : Op {
  std::string_view formula() const override {
    return R"(
      loss = sum over rows of (x - target)^2
        dx = 2 dloss (x - target)
    )"_formula;
  }
  Tensor targets;  // saved
  std::string_view name() const override { return "squared_error"; }
  void describe(OpMetadata& metadata) const override { metadata.save("targets", targets); }
  void backward(Backward& b) override {
    b.kernels().squared_error_backward(b.dinput(0), b.input(0), targets, loss_cotangent(b));
  }
};

}  // namespace

LossResult squared_error(const Var& predictions, const Tensor& targets) {
  const Shape& shape = predictions.shape();
  require(shape.rank() == 1 || (shape.rank() == 2 && shape[1] == 1),
          "[squared_error] predictions must be (n) or (n,1), got ", shape);
  require(targets.size() == shape[0], "[squared_error] expected ", shape[0], " targets, got ", targets.size());
  require(targets.dtype() == DType::f32, "[squared_error] targets must be f32, got ", targets.dtype());
  auto op = std::make_unique<SquaredError>();
  op->targets = targets;
  const Tensor& x = predictions.value();
  const Tensor all = zero_sums(x);
  predictions.kernels().squared_error(all, x, targets);
  return {predictions.tape().record(std::move(op), loss_scalar(all), {predictions}), all, x.size()};
}

}  // namespace gyre
