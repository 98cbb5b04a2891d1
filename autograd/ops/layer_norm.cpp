#include "gyre/autograd/ops.h"
#include "gyre/autograd/ops/formula.h"

namespace gyre {
namespace {

struct LayerNorm final : Op {
  std::string_view formula() const override {
    return R"(
      y = gamma * xhat + beta,  xhat = (x - mean) * rstd,  rstd = 1 / sqrt(variance + epsilon), over the last axis
        g = gamma * dy
        dx = rstd * (g - mean(g) - xhat * mean(g * xhat));  dgamma += sum_rows(dy * xhat);  dbeta += sum_rows(dy)
    )"_formula;
  }
  Tensor mean, rstd;  // saved: two numbers per row
  double epsilon = 0;
  std::string_view name() const override { return "layer_norm"; }
  void describe(OpMetadata& metadata) const override {
    metadata.attribute("epsilon", epsilon);
    metadata.save("mean", mean);
    metadata.save("rstd", rstd);
  }
  void backward(Backward& b) override {
    const auto [dx, dx_before] = b.dinput_sum(0);
    b.kernels().layer_norm_backward(dx, b.dparameter(1), b.dparameter(2), b.doutput(), b.input(0), b.input(1), mean,
                                    rstd, dx_before);
  }
};

}  // namespace

Var layer_norm(const Var& x, const Var& gamma, const Var& beta, double epsilon) {
  const Shape last{x.shape()[-1]};
  if (gamma.shape() != last || (beta && beta.shape() != last))
    throw Error("[layer_norm] gamma and beta must be ", last, ", got ", gamma.shape(), " and ",
                beta ? to_string(beta.shape()) : "none");
  auto op = std::make_unique<LayerNorm>();
  op->epsilon = epsilon;
  const Tensor y = x.value().like();
  op->mean = Tensor::empty({x.value().rows()}, statistics_dtype(y.dtype()), y.device());
  op->rstd = op->mean.like();
  x.kernels().layer_norm(y, op->mean, op->rstd, x.value(), gamma.value(), beta.value(), epsilon);
  return x.tape().record(std::move(op), y, {x, gamma, beta});
}

}  // namespace gyre
