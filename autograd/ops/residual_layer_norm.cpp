#include "gyre/autograd/ops.h"
#include "gyre/autograd/ops/formula.h"

namespace gyre {
namespace {

struct ResidualLayerNorm final : Op {
  std::string_view formula() const override {
    return R"(
      y = gamma * xhat + beta,  xhat = (sum - mean) * rstd,  sum = residual + keep x,  keep: the factors of dropout
        dresidual = dsum, computed as layer_norm's dx;  dx = keep dsum
        dgamma += sum_rows(dy * xhat);  dbeta += sum_rows(dy)
    )"_formula;
  }
  Tensor sum, mean, rstd;  // saved; backward draws keep again
  DropoutMask mask;
  double epsilon = 0;
  std::string_view name() const override { return "residual_layer_norm"; }
  void describe(OpMetadata& metadata) const override {
    if (mask.rate > 0) metadata.attribute("dropout", mask.rate);
    metadata.dropout = mask;
    metadata.attribute("epsilon", epsilon);
    metadata.save("sum", sum);
    metadata.save("mean", mean);
    metadata.save("rstd", rstd);
  }
  void backward(Backward& b) override {
    const Tensor dresidual = b.dinput(0);
    const auto [dx, dbias] = b.dinput_with_bias(1);
    b.kernels().residual_layer_norm_backward(dx, dresidual, b.dparameter(2), b.dparameter(3), dbias, b.doutput(), sum,
                                             b.input(2), mean, rstd, mask);
  }
};

}  // namespace

Var residual_layer_norm(const Var& residual, const Var& x, double rate, const Var& gamma, const Var& beta,
                        double epsilon) {
  require(residual.shape() == x.shape(), "[residual_layer_norm] shapes must be equal, got ", residual.shape(), " and ",
          x.shape());
  const Shape last{x.shape()[-1]};
  require(gamma.shape() == last && beta.shape() == last, "[residual_layer_norm] gamma and beta must be ", last,
          ", got ", gamma.shape(), " and ", beta.shape());
  auto op = std::make_unique<ResidualLayerNorm>();
  op->mask = x.tape().next_dropout("residual_layer_norm", rate);
  op->epsilon = epsilon;
  const Tensor y = x.value().like();
  if (x.tape().recording()) op->sum = y.like();
  op->mean = Tensor::empty({y.rows()}, statistics_dtype(y.dtype()), y.device());
  op->rstd = op->mean.like();
  x.kernels().residual_layer_norm(y, op->sum, op->mean, op->rstd, x.value(), residual.value(), gamma.value(),
                                  beta.value(), epsilon, op->mask);
  return x.tape().record(std::move(op), y, {residual, x, gamma, beta});
}

}  // namespace gyre
