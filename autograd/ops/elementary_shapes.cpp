// Elementary ops: matrix products, transposes, shapes, parts of matrices. gather_rows() is in embedding.cpp.
#include "gyre/autograd/elementary.h"
#include "gyre/autograd/ops/formula.h"
#include "gyre/autograd/ops/operands.h"

namespace gyre {
namespace {

struct Matmul final : Op {
  std::string_view formula() const override {
    return R"(
      y = op(a) op(b), op the transpose if the flag of the operand is set
        d op(a) = dy op(b)^T;  d op(b) = op(a)^T dy
    )"_formula;
  }
  bool transpose_a = false, transpose_b = false;
  double multiply_adds = 0;
  std::string_view name() const override { return "matmul"; }
  double flops() const override { return 2 * multiply_adds; }
  void describe(OpMetadata& metadata) const override {
    if (transpose_a) metadata.attribute("transpose_a", 1);
    if (transpose_b) metadata.attribute("transpose_b", 1);
  }
  void backward(Backward& b) override {
    const Tensor& dy = b.doutput();
    const Tensor x = b.product_weight(b.input(0), dy.dtype()), w = b.product_weight(b.input(1), dy.dtype());
    if (const Tensor da = b.dinput(0)) {
      transpose_a ? b.kernels().matmul(da, w, dy, transpose_b, true)
                  : b.kernels().matmul(da, dy, w, false, !transpose_b);
    }
    if (const Tensor db = b.dinput(1)) {
      transpose_b ? b.kernels().matmul(db, dy, x, true, transpose_a)
                  : b.kernels().matmul(db, x, dy, !transpose_a, false);
    }
  }
};

// The transpose of a single row or column is a view.
bool is_line(const Shape& shape) { return shape[0] == 1 || shape[1] == 1; }

struct Transpose final : Op {
  std::string_view formula() const override { return "y = x^T\n  dx = dy^T"; }
  std::string_view name() const override { return "transpose"; }
  void backward(Backward& b) override {
    is_line(b.doutput().shape()) ? b.forward_gradient(0) : b.kernels().transpose(b.dinput(0), b.doutput());
  }
};

struct Reshape final : Op {
  std::string_view formula() const override { return "y = x in another shape\n  dx = dy in the shape of x"; }
  std::string_view name() const override { return "reshape"; }
  void backward(Backward& b) override { b.forward_gradient(0); }
};

// The gradient is added to its part of dx: the slices of x share one tensor.
struct Slice final : Op {
  std::string_view formula() const override {
    return R"(
      y = x[first .. first + count - 1] along an axis
        dx[first .. first + count - 1] += dy
    )"_formula;
  }
  int axis = 0;
  int64_t first = 0, count = 0;
  std::string_view name() const override { return "slice"; }
  void describe(OpMetadata& metadata) const override {
    metadata.attribute("axis", axis);
    metadata.attribute("first", first);
  }
  void backward(Backward& b) override {
    const Tensor dx = b.dparameter(0);
    if (axis == 1) return b.kernels().copy_columns(dx, first, b.doutput(), 0, count, true);
    const Tensor rows = dx.slice(first, first + count);
    b.kernels().add(rows, rows, b.doutput());
  }
};

struct Concat final : Op {
  std::string_view formula() const override {
    return R"(
      y = [x_1 | x_2 | ..] along an axis
        dx_i = its part of dy
    )"_formula;
  }
  int axis = 0, parts = 0;
  std::string_view name() const override { return "concat"; }
  void describe(OpMetadata& metadata) const override { metadata.attribute("axis", axis); }
  void backward(Backward& b) override {
    int64_t first = 0;
    for (int i = 0; i < parts; ++i) {
      const int64_t size = b.input(i).dim(axis);
      const Tensor& dy = b.doutput();
      if (const Tensor dx = b.dinput(i)) {
        if (axis == 0) {
          b.kernels().copy_columns(dx, 0, dy.slice(first, first + size), 0, dy.cols(), false);
        } else {
          b.kernels().copy_columns(dx, 0, dy, first, size, false);
        }
      }
      first += size;
    }
  }
};

}  // namespace

Var matmul(const Var& a, const Var& b, bool transpose_a, bool transpose_b) {
  require_operands("matmul", {a, b});
  require_matrix("matmul", a);
  require_matrix("matmul", b);
  const int64_t n = a.shape()[transpose_a ? 1 : 0], summed = a.shape()[transpose_a ? 0 : 1];
  const int64_t m = b.shape()[transpose_b ? 0 : 1];
  require(b.shape()[transpose_b ? 1 : 0] == summed, "[matmul] the summed axes must have one size, got ", a.shape(),
          transpose_a ? " transposed" : "", " and ", b.shape(), transpose_b ? " transposed" : "");
  const DType dtype = dtype_of_pair("matmul", a.value().dtype(), b.value().dtype());
  auto op = std::make_unique<Matmul>();
  op->transpose_a = transpose_a;
  op->transpose_b = transpose_b;
  op->multiply_adds = double(n) * double(m) * double(summed);
  const Tensor y = Tensor::empty({n, m}, dtype, a.value().device());
  const auto operand = [&](const Var& v) { return a.tape().product_weight(v.value(), dtype); };
  a.kernels().matmul(y, operand(a), operand(b), transpose_a, transpose_b);
  return a.tape().record(std::move(op), y, {a, b});
}

Var transpose(const Var& x) {
  require_operands("transpose", {x});
  require_matrix("transpose", x);
  const Shape shape{x.shape()[1], x.shape()[0]};
  if (is_line(shape)) return x.tape().record(std::make_unique<Transpose>(), x.value().reshape(shape), {x});
  const Tensor y = Tensor::empty(shape, x.value().dtype(), x.value().device());
  x.kernels().transpose(y, x.value());
  return x.tape().record(std::make_unique<Transpose>(), y, {x});
}

Var reshape(const Var& x, Shape shape) {
  require_operands("reshape", {x});
  require(shape.elements() == x.shape().elements(), "[reshape] expected a shape of ", x.shape().elements(),
          " elements, got ", shape);
  return x.tape().record(std::make_unique<Reshape>(), x.value().reshape(shape), {x});
}

Var slice(const Var& x, int axis, int64_t first, int64_t count) {
  require_operands("slice", {x});
  require_matrix("slice", x);
  require(axis == 0 || axis == 1, "[slice] the axis must be 0 or 1, got ", axis);
  const int64_t size = x.shape()[axis];
  require(first >= 0 && first <= size && count >= 0 && count <= size - first, "[slice] expected a range within the ",
          size, axis == 0 ? " rows" : " columns", " of x, got ", count, " from ", first, " on");
  auto op = std::make_unique<Slice>();
  op->axis = axis;
  op->first = first;
  op->count = count;
  if (axis == 0) return x.tape().record(std::move(op), x.value().slice(first, first + count), {x});
  const Tensor y = Tensor::empty({x.shape()[0], count}, x.value().dtype(), x.value().device());
  x.kernels().copy_columns(y, 0, x.value(), first, count, false);
  return x.tape().record(std::move(op), y, {x});
}

Var concat(const std::vector<Var>& parts, int axis) {
  require(!parts.empty(), "[concat] expected at least one part, got none");
  require(axis == 0 || axis == 1, "[concat] the axis must be 0 or 1, got ", axis);
  DType dtype = parts[0].value().dtype();
  int64_t size = 0;
  for (const Var& part : parts) {
    require_operands("concat", {parts[0], part});
    require_matrix("concat", part);
    require(part.shape()[1 - axis] == parts[0].shape()[1 - axis], "[concat] the parts must have equally many ",
            axis == 0 ? "columns" : "rows", ", got ", parts[0].shape(), " and ", part.shape());
    dtype = dtype_of_pair("concat", dtype, part.value().dtype());
    size += part.shape()[axis];
  }
  Shape shape = parts[0].shape();
  shape.set(axis, size);
  auto op = std::make_unique<Concat>();
  op->axis = axis;
  op->parts = int(parts.size());
  const Tensor y = Tensor::empty(shape, dtype, parts[0].value().device());
  int64_t first = 0;
  for (const Var& part : parts) {
    const int64_t count = part.shape()[axis];
    if (axis == 0) {
      part.kernels().copy_columns(y.slice(first, first + count), 0, part.value(), 0, shape[1], false);
    } else {
      part.kernels().copy_columns(y, first, part.value(), 0, count, false);
    }
    first += count;
  }
  return parts[0].tape().record(std::move(op), y, parts);
}

}  // namespace gyre
