#include "gyre/autograd/ops.h"
#include "gyre/autograd/ops/formula.h"

namespace gyre {
namespace {

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
  auto op = std::make_unique<RmsNorm>();
  op->epsilon = epsilon;
  op->width = width;
  const Tensor y = x.value().like();
  op->rstd = Tensor::empty({x.value().rows() * (last / width)}, statistics_dtype(y.dtype()), y.device());
  x.kernels().layer_norm(op->groups(y), {}, op->rstd, op->groups(x.value()), gamma.value(), {}, epsilon);
  return x.tape().record(std::move(op), y, {x, gamma});
}

}  // namespace gyre
