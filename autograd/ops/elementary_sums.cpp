// Elementary ops: sums and maxima over an axis, softmax, choice.
#include "gyre/autograd/elementary.h"
#include "gyre/autograd/ops/composed.h"
#include "gyre/autograd/ops/formula.h"
#include "gyre/autograd/ops/operands.h"

namespace gyre {
namespace {

struct Sum final : Op {
  std::string_view formula() const override {
    return R"(
      y = factor * sum of x over an axis, or over all elements
        dx = factor * dy, repeated along the axis
    )"_formula;
  }
  int axis = -1;  // -1: all elements
  double factor = 1;
  bool is_mean = false;
  std::string_view name() const override { return is_mean ? "mean" : "sum"; }
  void describe(OpMetadata& metadata) const override {
    if (axis >= 0) metadata.attribute("axis", axis);
    if (is_mean) metadata.attribute("factor", factor);
  }
  void backward(Backward& b) override {
    b.kernels().unary(b.dinput(0), b.doutput(), {UnaryFunction::affine, factor, 0});
  }
};

struct Max final : Op {
  std::string_view formula() const override {
    return R"(
      y = max_columns(x)
        dx = dy [x = y] / (number of such x)
    )"_formula;
  }
  std::string_view name() const override { return "max"; }
  void backward(Backward& b) override {
    b.kernels().largest_backward(b.dinput(0), b.doutput(), b.input(0), b.output());
  }
};

struct Softmax final : Op {
  std::string_view formula() const override {
    return R"(
      y = exp(x) / sum_columns(exp(x))
        dx = y (dy - sum_columns(y * dy))
    )"_formula;
  }
  std::string_view name() const override { return "softmax"; }
  void backward(Backward& b) override { b.kernels().softmax_backward(b.dinput(0), b.doutput(), b.output()); }
};

struct LogSoftmax final : Op {
  std::string_view formula() const override {
    return R"(
      y = x - log(sum_columns(exp(x)))
        dx = dy - exp(y) sum_columns(dy)
    )"_formula;
  }
  std::string_view name() const override { return "log_softmax"; }
  void backward(Backward& b) override { b.kernels().log_softmax_backward(b.dinput(0), b.doutput(), b.output()); }
};

struct Where final : Op {
  std::string_view formula() const override {
    return R"(
      y = a where mask is not 0, else b
        da = dy where mask is not 0, else 0;  db = dy where mask is 0, else 0
    )"_formula;
  }
  Tensor mask;
  std::string_view name() const override { return "where"; }
  void describe(OpMetadata& metadata) const override { metadata.save("mask", mask); }
  void backward(Backward& b) override {
    const Tensor da = b.dinput(0), db = b.dinput(1);
    b.kernels().where_backward(da, db, b.doutput(), mask);
  }
};

// The shape of a sum over an axis of x. A vector is a row.
Shape summed_shape(std::string_view op, const Var& x, int axis) {
  require_operands(op, {x});
  require(x.shape().rank() == 1 || x.shape().rank() == 2, "[", op, "] expected a matrix (n,d), got ", x.shape());
  require(axis == 0 || axis == 1, "[", op, "] the axis must be 0 or 1, got ", axis);
  const int64_t rows = x.shape().rank() == 2 ? x.shape()[0] : 1;
  return axis == 0 ? Shape{1, x.shape()[-1]} : Shape{rows, 1};
}

Var summed(const Var& x, int axis, const Shape& shape, double factor, bool is_mean) {
  auto op = std::make_unique<Sum>();
  op->axis = axis;
  op->factor = factor;
  op->is_mean = is_mean;
  const Tensor y = Tensor::empty(shape, x.value().dtype(), x.value().device());
  x.kernels().sum(y, x.value(), factor);
  return x.tape().record(std::move(op), y, {x});
}

}  // namespace

Var sum(const Var& x, int axis) { return summed(x, axis, summed_shape("sum", x, axis), 1, false); }

Var mean(const Var& x, int axis) {
  const Shape shape = summed_shape("mean", x, axis);
  require(x.shape().elements() > 0 || shape.elements() == 0, "[mean] expected at least one element along axis ", axis,
          ", got ", x.shape());
  return summed(x, axis, shape, double(shape.elements()) / double(x.shape().elements()), true);
}

Var sum(const Var& x) {
  require_operands("sum", {x});
  return summed(x, -1, {1}, 1, false);
}

Var max(const Var& x, int axis) {
  const Shape shape = summed_shape("max", x, axis);
  require(x.shape().elements() > 0 || shape.elements() == 0, "[max] expected at least one element along axis ", axis,
          ", got ", x.shape());
  if (axis == 0) {
    const Var matrix = x.shape().rank() == 2 ? x : reshape(x, {1, x.shape()[0]});
    return reshape(max(transpose(matrix), 1), shape);
  }
  const Tensor y = Tensor::empty(shape, x.value().dtype(), x.value().device());
  if (y.size() > 0) x.kernels().largest(y, x.value());
  return x.tape().record(std::make_unique<Max>(), y, {x});
}

Var softmax(const Var& x) {
  require_operands("softmax", {x});
  const Tensor y = x.value().like();
  if (y.size() > 0) x.kernels().softmax(y, x.value());
  return x.tape().record(std::make_unique<Softmax>(), y, {x});
}

Var log_softmax(const Var& x) {
  require_operands("log_softmax", {x});
  const Tensor y = x.value().like();
  if (y.size() > 0) x.kernels().log_softmax(y, x.value());
  return x.tape().record(std::make_unique<LogSoftmax>(), y, {x});
}

namespace {

// a where the mask is set, else b, for an op whose result has the shape of both.
Var choose(std::string_view name, const Tensor& mask, const Var& a, const Var& b, const Shape& shape) {
  require_integers(name, "a mask", mask);
  auto op = std::make_unique<Where>();
  op->mask = mask;
  const DType dtype = dtype_of_pair(name, a.value().dtype(), b.value().dtype());
  const Tensor y = Tensor::empty(broadcast_shape(name, shape, mask.shape()), dtype, a.value().device());
  a.kernels().where(y, mask, a.value(), b.value());
  return a.tape().record(std::move(op), y, {a, b});
}

}  // namespace

Var where(const Tensor& mask, const Var& a, const Var& b) {
  require_operands("where", {a, b});
  return choose("where", mask, a, b, broadcast_shape("where", a.shape(), b.shape()));
}

Var masked_fill(const Var& x, const Tensor& mask, double value) {
  require_operands("masked_fill", {x});
  Var y = choose("masked_fill", mask, number_beside(x, value), x, x.shape());
  require(y.value().size() == x.value().size(), "[masked_fill] expected a mask that is not larger than x ", x.shape(),
          ", got ", mask.shape());
  return y;
}

}  // namespace gyre
