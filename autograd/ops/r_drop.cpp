#include "gyre/autograd/ops.h"
#include "gyre/autograd/ops/formula.h"
#include "gyre/autograd/ops/linear_loss.h"
#include "gyre/autograd/ops/loss_sums.h"

namespace gyre {
namespace {

struct LinearRDrop final : Op {
  std::string_view formula() const override {
    return R"(
      loss = (cross_entropy(a) + cross_entropy(b)) / 2 + alpha / 4 sum of p log(p / q) + q log(q / p)
      a, b = the halves of x w^T + bias;  p = softmax(a);  q = softmax(b)
        da = dloss ((p - (1 - eps) onehot(t) - eps / v) / 2 + alpha / 4 (p (log(p / q) - KL(p || q)) + p - q))
        db = dloss ((q - (1 - eps) onehot(t) - eps / v) / 2 + alpha / 4 (q (log(q / p) - KL(q || p)) + q - p))
        dlogits = da and db;  dx = dlogits w;  dw += dlogits^T x;  dbias += sum_rows(dlogits)
    )"_formula;
  }
  LinearLoss layer;  // saved: dx, dw and dbias, for dloss = 1
  double smoothing = 0, alpha = 0;
  LinearRDrop(const Var& x, const Var& w, const Var& bias) : layer("linear_r_drop", x, w, bias) {}
  std::string_view name() const override { return "linear_r_drop"; }
  void describe(OpMetadata& metadata) const override {
    metadata.attribute("smoothing", smoothing);
    metadata.attribute("alpha", alpha);
    layer.describe(metadata);
  }
  double flops() const override { return layer.flops(); }
  void backward(Backward& b) override { layer.backward(b); }
};

}  // namespace

LossResult linear_r_drop(const Var& x, const Var& w, const Var& bias, const Tensor& targets, double smoothing,
                         double alpha) {
  auto op = std::make_unique<LinearRDrop>(x, w, bias);
  require(x.shape()[0] % 2 == 0, "[linear_r_drop] expected the rows of two passes, got ", x.shape()[0], " rows");
  const int64_t v = w.shape()[0], predictions = count_targets("linear_r_drop", targets, x.shape()[0] / 2, v);
  op->smoothing = smoothing;
  op->alpha = alpha;
  const Tensor all = zero_sums(x.value());
  op->layer.run(x, w, bias, 2, [&](const Tensor& logits, int64_t begin, int64_t end) {
    x.kernels().r_drop_in_place(all, logits, targets.slice(begin, end), v, smoothing, alpha);
  });
  return {x.tape().record(std::move(op), loss_scalar(all), {x, w, bias}), all, predictions};
}

}  // namespace gyre
