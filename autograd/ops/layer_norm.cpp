#include "gyre/autograd/ops.h"
#include "gyre/autograd/ops/composed.h"
#include "gyre/autograd/ops/formula.h"

namespace gyre {
namespace {

Var composed_layer_norm(const Var& x, const Var& gamma, const Var& beta, double epsilon) {
  const Var rows = reshape(x, {x.value().rows(), x.shape()[-1]}), centered = rows - mean(rows, 1);
  const Var variance = mean(centered * centered, 1);
  const Var y = gamma * centered / sqrt(variance + epsilon);
  return reshape(beta ? y + beta : y, x.shape());
}

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
  if (!x.tape().fused(&Kernels::layer_norm_op))
    return stored(composed_layer_norm(widened(x), gamma, beta, epsilon), x.value().dtype());
  auto op = std::make_unique<LayerNorm>();
  op->epsilon = epsilon;
  const Tensor y = x.value().like();
  op->mean = Tensor::empty({x.value().rows()}, statistics_dtype(y.dtype()), y.device());
  op->rstd = op->mean.like();
  x.kernels().layer_norm(y, op->mean, op->rstd, x.value(), gamma.value(), beta.value(), epsilon);
  return x.tape().record(std::move(op), y, {x, gamma, beta});
}

namespace {

Var composed_rms_norm(const Var& x, const Var& gamma, double epsilon) {
  const int64_t width = gamma.shape()[0];
  const Var groups = reshape(x, {x.value().size() / width, width});
  return reshape(gamma * groups / sqrt(mean(groups * groups, 1) + epsilon), x.shape());
}

struct RmsNorm final : Op {
  std::string_view formula() const override {
    return R"(
      y = gamma * xhat,  xhat = x * rstd,  rstd = 1 / sqrt(mean(x^2) + epsilon), over each group of columns
        g = gamma * dy
        dx = rstd * (g - xhat * mean(g * xhat));  dgamma += the sum of dy * xhat over rows and groups
    )"_formula;
  }
  Tensor rstd;  // saved: a number per group of each row
  int64_t width = 0;
  double epsilon = 0;
  std::string_view name() const override { return "rms_norm"; }
  void describe(OpMetadata& metadata) const override {
    metadata.attribute("epsilon", epsilon);
    metadata.save("rstd", rstd);
  }
  // The kernels see every group as a row.
  Tensor groups(const Tensor& t) const { return t ? t.reshape({rstd.size(), width}) : t; }
  void backward(Backward& b) override {
    const auto [dx, dx_before] = b.dinput_sum(0);
    b.kernels().layer_norm_backward(groups(dx), b.dparameter(1), {}, groups(b.doutput()), groups(b.input(0)),
                                    b.input(1), {}, rstd, groups(dx_before));
  }
};

}  // namespace

Var rms_norm(const Var& x, const Var& gamma, double epsilon) {
  const int64_t last = x.shape()[-1], width = gamma.value().size();
  require(gamma.shape().rank() == 1 && width > 0 && last % width == 0, "[rms_norm] the size of gamma must divide the ",
          last, " columns, got ", gamma.shape());
  if (!x.tape().fused(&Kernels::rms_norm_op))
    return stored(composed_rms_norm(widened(x), gamma, epsilon), x.value().dtype());
  auto op = std::make_unique<RmsNorm>();
  op->epsilon = epsilon;
  op->width = width;
  const Tensor y = x.value().like();
  op->rstd = Tensor::empty({x.value().rows() * (last / width)}, statistics_dtype(y.dtype()), y.device());
  x.kernels().layer_norm(op->groups(y), {}, op->rstd, op->groups(x.value()), gamma.value(), {}, epsilon);
  return x.tape().record(std::move(op), y, {x, gamma});
}

namespace {

Var composed_residual_layer_norm(const Var& residual, const Var& x, const DropoutMask& mask, const Var& gamma,
                                 const Var& beta, double epsilon) {
  const Var sum = as_stored(residual + composed_dropout(x, mask));
  return composed_layer_norm(sum, gamma, beta, epsilon);
}

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
  const DropoutMask mask = x.tape().next_dropout("residual_layer_norm", rate);
  if (!x.tape().fused(&Kernels::residual_layer_norm_op))
    return stored(composed_residual_layer_norm(widened(residual), widened(x), mask, gamma, beta, epsilon),
                  x.value().dtype());
  auto op = std::make_unique<ResidualLayerNorm>();
  op->mask = mask;
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
