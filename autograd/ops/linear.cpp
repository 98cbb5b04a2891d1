#include "gyre/autograd/ops.h"
#include "gyre/autograd/ops/formula.h"

namespace gyre {
namespace {

struct Linear final : Op {
  std::string_view formula() const override {
    return R"(
      y = x w^T + bias, with w and bias all or some rows of their parameters
        dx = dy w;  dw += dy^T x;  dbias += sum_rows(dy)
    )"_formula;
  }
  int64_t first = 0, count = 0;  // rows of w and bias
  bool all_rows = true;
  double multiply_adds = 0;
  std::string_view name() const override { return "linear"; }
  double flops() const override { return 2 * multiply_adds; }
  void describe(OpMetadata& metadata) const override {
    if (!all_rows) metadata.attribute("rows", concat(first, "..", first + count - 1));
  }
  Tensor rows(const Tensor& parameter) const { return parameter ? parameter.slice(first, first + count) : Tensor(); }
  Tensor bias_gradient(Backward& b) const override { return rows(b.dparameter(2)); }
  void backward(Backward& b) override {
    const auto [dx, dx_before] = b.dinput_sum(0);
    b.kernels().linear_backward(dx, rows(b.dparameter(1)), b.has_bias_gradient() ? Tensor() : bias_gradient(b),
                                b.doutput(), b.input(0), b.product_weight(rows(b.input(1)), b.input(0).dtype()),
                                dx_before);
  }
};

}  // namespace

Var linear(const Var& x, const Var& w, const Var& bias) { return linear(x, w, bias, 0, w.shape()[0]); }

Var linear(const Var& x, const Var& w, const Var& bias, int64_t first, int64_t count) {
  require(x.shape().rank() == 2 && w.shape().rank() == 2 && x.shape()[1] == w.shape()[1],
          "[linear] expected x(n,d) and w(o,d), got ", x.shape(), " and ", w.shape());
  require(!bias || bias.shape() == Shape{w.shape()[0]}, "[linear] the bias must be (", w.shape()[0], "), got ",
          bias.shape());
  require(first >= 0 && count >= 0 && first + count <= w.shape()[0], "[linear] expected a range within the ",
          w.shape()[0], " rows of w, got ", first, " to ", first + count - 1);
  auto op = std::make_unique<Linear>();
  op->first = first;
  op->count = count;
  op->all_rows = count == w.shape()[0];
  op->multiply_adds = double(x.value().size()) * double(count);
  const Tensor y = Tensor::empty({x.shape()[0], count}, x.value().dtype(), x.value().device());
  x.tape().multiply(y, x.value(), op->rows(w.value()), op->rows(bias.value()));
  return x.tape().record(std::move(op), y, {x, w, bias});
}

}  // namespace gyre
