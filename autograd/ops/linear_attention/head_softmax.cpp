#include "gyre/autograd/ops.h"
#include "gyre/autograd/ops/formula.h"

namespace gyre {
namespace {

struct HeadSoftmax final : Op {
  std::string_view formula() const override {
    return R"(
      y = softmax(x) over the features of a head
        dx = y (dy - y . dy)
    )"_formula;
  }
  int heads = 1;
  std::string_view name() const override { return "head_softmax"; }
  void describe(OpMetadata& metadata) const override { metadata.attribute("heads", heads); }
  void backward(Backward& b) override {
    b.kernels().head_softmax_backward(b.dinput(0), b.doutput(), b.output(), heads);
  }
};

}  // namespace

Var head_softmax(const Var& x, int heads) {
  require(x.shape().rank() == 2 && heads > 0 && x.shape()[1] % heads == 0,
          "[head_softmax] expected x(n, heads * width) of ", heads, " heads, got ", x.shape());
  auto op = std::make_unique<HeadSoftmax>();
  op->heads = heads;
  const Tensor y = x.value().like();
  x.kernels().head_softmax(y, x.value(), heads);
  return x.tape().record(std::move(op), y, {x});
}

}  // namespace gyre
