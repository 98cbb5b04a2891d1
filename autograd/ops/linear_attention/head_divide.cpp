// Division of each head's features by one number per head: the normalization of linear attention.
#include "gyre/autograd/ops.h"
#include "gyre/autograd/ops/formula.h"

namespace gyre {
namespace {

struct HeadDivide final : Op {
  std::string_view formula() const override {
    return R"(
      y = a / (b + epsilon), with one b for all features of a head
        da = dy / (b + epsilon);  db = -(dy . a) / (b + epsilon)^2
    )"_formula;
  }
  double epsilon = 0;
  std::string_view name() const override { return "head_divide"; }
  void describe(OpMetadata& metadata) const override { metadata.attribute("epsilon", epsilon); }
  void backward(Backward& b) override {
    b.kernels().head_divide_backward(b.dinput(0), b.dinput(1), b.doutput(), b.input(0), b.input(1), epsilon);
  }
};

}  // namespace

Var head_divide(const Var& a, const Var& b, double epsilon) {
  require(a.shape().rank() == 2 && b.shape().rank() == 2 && a.shape()[0] == b.shape()[0] && b.shape()[1] > 0 &&
              a.shape()[1] % b.shape()[1] == 0,
          "[head_divide] expected a(n, heads * width) and b(n, heads), got ", a.shape(), " and ", b.shape());
  auto op = std::make_unique<HeadDivide>();
  op->epsilon = epsilon;
  const Tensor y = a.value().like();
  a.kernels().head_divide(y, a.value(), b.value(), epsilon);
  return a.tape().record(std::move(op), y, {a, b});
}

}  // namespace gyre
