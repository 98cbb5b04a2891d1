#include "gyre/autograd/ops.h"
#include "gyre/autograd/ops/formula.h"

namespace gyre {
namespace {

// linear() without a bias on x reshaped to (n * heads, width).
struct HeadMatmul final : Op {
  std::string_view formula() const override {
    return R"(
      y_h = x_h w^T for every head h
        dx_h = dy_h w;  dw += sum_h dy_h^T x_h
    )"_formula;
  }
  double multiply_adds = 0;
  std::string_view name() const override { return "head_matmul"; }
  double flops() const override { return 2 * multiply_adds; }
  void backward(Backward& b) override {
    const Tensor &x = b.input(0), &w = b.input(1), &dy = b.doutput();
    const Shape rows{x.size() / w.dim(1), w.dim(1)};
    const Tensor dx = b.dinput(0);
    b.kernels().linear_backward(dx ? dx.reshape(rows) : Tensor(), b.dparameter(1), {}, dy.reshape({rows[0], w.dim(0)}),
                                x.reshape(rows), b.product_weight(w, x.dtype()), {});
  }
};

}  // namespace

Var head_matmul(const Var& x, const Var& w, int heads) {
  require(x.shape().rank() == 2 && w.shape().rank() == 2 && heads > 0 && x.shape()[1] == heads * w.shape()[1],
          "[head_matmul] expected x(n, heads * width) of ", heads, " heads and w(features, width), got ", x.shape(),
          " and ", w.shape());
  const int64_t n = x.shape()[0], features = w.shape()[0], width = w.shape()[1];
  auto op = std::make_unique<HeadMatmul>();
  op->multiply_adds = double(x.value().size()) * double(features);
  const Tensor y = Tensor::empty({n, heads * features}, w.value().dtype(), x.value().device());
  x.kernels().linear(y.reshape({n * heads, features}), x.value().reshape({n * heads, width}),
                     x.tape().product_weight(w.value(), x.value().dtype()), {});
  return x.tape().record(std::move(op), y, {x, w});
}

}  // namespace gyre
