#include "gyre/autograd/ops.h"
#include "gyre/autograd/ops/composed.h"
#include "gyre/autograd/ops/formula.h"

namespace gyre {

Var composed_linear(const Var& x, const Var& w, const Var& bias) {
  const Var rounded = as_stored(w, Stored::value);
  const Var products = as_stored(matmul(cast(x, w.value().dtype()), rounded, false, true), Stored::gradient);
  return bias ? products + bias : products;
}

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
  if (!x.tape().fused(&Kernels::linear_op)) {
    const Var of_rows = bias ? slice(reshape(bias, {1, bias.shape()[0]}), 1, first, count) : bias;
    return stored(composed_linear(x, slice(w, 0, first, count), of_rows), x.value().dtype());
  }
  auto op = std::make_unique<Linear>();
  op->first = first;
  op->count = count;
  op->all_rows = count == w.shape()[0];
  op->multiply_adds = double(x.value().size()) * double(count);
  const Tensor y = Tensor::empty({x.shape()[0], count}, x.value().dtype(), x.value().device());
  x.tape().multiply(y, x.value(), op->rows(w.value()), op->rows(bias.value()));
  return x.tape().record(std::move(op), y, {x, w, bias});
}

namespace {

Var composed_linear_activation(const Var& x, const Var& w, const Var& bias, Activation kind, const DropoutMask& mask) {
  const Var pre = as_stored(composed_linear(x, w, bias), Stored::gradient);
  return composed_dropout(composed_activation(pre, kind), mask);
}

// The name of the op; empty for activations that no feed-forward block or head may have.
std::string_view name_with(Activation kind) {
  switch (kind) {
    case Activation::relu:
      return "linear_relu";
    case Activation::gelu:
      return "linear_gelu";
    case Activation::tanh:
      return "linear_tanh";
    case Activation::silu:
      return "linear_silu";
    case Activation::gelu_tanh:
      return "linear_gelu_tanh";
    default:
      return "";
  }
}

struct LinearActivation final : Op {
  std::string_view formula() const override {
    return R"(
      y = keep act(pre),  pre = x w^T + bias,  keep: the factors of dropout (1 without dropout)
        dpre = keep act'(pre) dy;  dx = dpre w;  dw += dpre^T x;  dbias += sum_rows(dpre)
    )"_formula;
  }
  Activation kind = Activation::relu;
  DropoutMask mask;
  Tensor pre;  // saved, except for relu, whose keep act'(pre) follows from y
  double multiply_adds = 0;
  std::string_view name() const override { return name_with(kind); }
  double flops() const override { return 2 * multiply_adds; }
  void describe(OpMetadata& metadata) const override {
    if (mask.rate > 0) metadata.attribute("dropout", mask.rate);
    metadata.dropout = mask;
    metadata.save("pre", pre);
  }
  void backward(Backward& b) override {
    const Tensor& saved = kind == Activation::relu ? b.output() : pre;
    const auto [dx, dx_before] = b.dinput_sum(0);
    b.kernels().linear_activation_backward(dx, b.dparameter(1), b.dparameter(2), b.doutput(), b.input(0),
                                           b.product_weight(b.input(1), b.input(0).dtype()), saved, dx_before, kind,
                                           mask);
  }
};

}  // namespace

Var linear_activation(const Var& x, const Var& w, const Var& bias, Activation kind, double rate) {
  require(x.shape().rank() == 2 && w.shape().rank() == 2 && x.shape()[1] == w.shape()[1],
          "[linear_activation] expected x(n,d) and w(o,d), got ", x.shape(), " and ", w.shape());
  require(!bias || bias.shape() == Shape{w.shape()[0]}, "[linear_activation] the bias must be (", w.shape()[0],
          "), got ", bias.shape());
  require(!name_with(kind).empty(), "[linear_activation] expected relu, gelu, tanh, silu or gelu_tanh, got ", kind);
  const DropoutMask mask = x.tape().next_dropout("linear_activation", rate);
  if (!x.tape().fused(&Kernels::linear_activation_op))
    return stored(composed_linear_activation(x, w, bias, kind, mask), x.value().dtype());
  auto op = std::make_unique<LinearActivation>();
  op->kind = kind;
  op->mask = mask;
  op->multiply_adds = double(x.value().size()) * double(w.shape()[0]);
  const Tensor y = Tensor::empty({x.shape()[0], w.shape()[0]}, x.value().dtype(), x.value().device());
  if (kind != Activation::relu && x.tape().recording()) op->pre = y.like();
  const PackedWeight* packed = op->mask.rate == 0 ? x.tape().packed_weight(w.value(), y.dtype()) : nullptr;
  if (packed != nullptr) {
    x.kernels().packed_linear(y, x.value(), *packed, bias.value(), kind);
  } else {
    const auto operand = [&](const Var& v) { return x.tape().product_weight(v.value(), y.dtype()); };
    x.kernels().linear_activation(y, op->pre, x.value(), operand(w), operand(bias), kind, op->mask);
  }
  return x.tape().record(std::move(op), y, {x, w, bias});
}

}  // namespace gyre
