#include "gyre/autograd/ops.h"
#include "gyre/autograd/ops/formula.h"
#include "gyre/autograd/ops/linear_loss.h"
#include "gyre/autograd/ops/loss_sums.h"

namespace gyre {
namespace {

void describe_options(OpMetadata& metadata, const CrossEntropyOptions& options) {
  metadata.attribute("smoothing", options.smoothing);
  if (options.z_loss > 0) metadata.attribute("z_loss", options.z_loss);
}

struct CrossEntropy final : Op {
  std::string_view formula() const override {
    return R"(
      loss = sum over rows of lse - (1 - eps) x_t - eps mean(x) + z lse^2,  lse = log(sum(exp(x)))
        dx = dloss ((1 + 2 z lse) softmax(x) - (1 - eps) onehot(t) - eps / v)
    )"_formula;
  }
  Tensor targets, lse;  // saved: the log-sum-exp of each row
  CrossEntropyOptions options;
  std::string_view name() const override { return "cross_entropy"; }
  void describe(OpMetadata& metadata) const override {
    describe_options(metadata, options);
    metadata.save("targets", targets);
    metadata.save("lse", lse);
  }
  void backward(Backward& b) override {
    b.kernels().cross_entropy_backward(b.dinput(0), b.input(0), targets, lse, b.input(0).cols(), options,
                                       loss_cotangent(b));
  }
};

struct LinearCrossEntropy final : Op {
  std::string_view formula() const override {
    return R"(
      loss = cross_entropy(logits),  logits = x w^T + bias
        dlogits = dloss ((1 + 2 z lse) softmax(logits) - (1 - eps) onehot(t) - eps / v)
        dx = dlogits w;  dw += dlogits^T x;  dbias += sum_rows(dlogits)
    )"_formula;
  }
  LinearLoss layer;  // saved: dx, dw and dbias, for dloss = 1
  Tensor targets;    // saved for cross_entropy_parts()
  CrossEntropyOptions options;
  LinearCrossEntropy(const Var& x, const Var& w, const Var& bias) : layer("linear_cross_entropy", x, w, bias) {}
  std::string_view name() const override { return "linear_cross_entropy"; }
  void describe(OpMetadata& metadata) const override {
    describe_options(metadata, options);
    layer.describe(metadata);
    metadata.save("targets", targets);
  }
  double flops() const override { return layer.flops(); }
  void backward(Backward& b) override { layer.backward(b); }
};

}  // namespace

LossResult cross_entropy(const Var& logits, const Tensor& targets, const CrossEntropyOptions& options) {
  require(logits.shape().rank() == 2, "[cross_entropy] logits must be (n,v), got ", logits.shape());
  const int64_t predictions = count_targets("cross_entropy", targets, logits.shape()[0], logits.shape()[1]);
  auto op = std::make_unique<CrossEntropy>();
  op->targets = targets;
  op->options = options;
  const Tensor& x = logits.value();
  op->lse = Tensor::empty({x.rows()}, statistics_dtype(x.dtype()), x.device());
  const Tensor all = zero_sums(x);
  logits.kernels().cross_entropy(all, op->lse, x, targets, x.cols(), options);
  return {logits.tape().record(std::move(op), loss_scalar(all), {logits}), all, predictions};
}

CrossEntropyParts cross_entropy_parts(const Tape& tape, int node, int64_t rows) {
  const Node& recorded = tape.nodes().at(size_t(node));
  const auto* op = dynamic_cast<const LinearCrossEntropy*>(recorded.op.get());
  require(op != nullptr, "[cross-entropy parts] expected a node of linear_cross_entropy, got ", recorded.name());
  const int64_t all = recorded.input_values[0].rows();
  require(rows >= 1 && rows <= all, "[cross-entropy parts] expected 1 to ", all, " rows, got ", rows);
  const Tensor x = recorded.input_values[0].slice(0, rows), &w = recorded.input_values[1];
  const Tensor logits = Tensor::empty({rows, w.dim(0)}, statistics_dtype(x.dtype()), x.device());
  tape.multiply(logits, x, w, recorded.input_values[2]);
  const Tensor gradient = logits.clone();
  tape.kernels().cross_entropy_in_place(zero_sums(x), gradient, op->targets.slice(0, rows), w.dim(0), op->options);
  return {logits, gradient};
}

LossResult linear_cross_entropy(const Var& x, const Var& w, const Var& bias, const Tensor& targets,
                                const CrossEntropyOptions& options) {
  auto op = std::make_unique<LinearCrossEntropy>(x, w, bias);
  const int64_t v = w.shape()[0], predictions = count_targets("linear_cross_entropy", targets, x.shape()[0], v);
  op->options = options;
  op->targets = targets;
  const Tensor all = zero_sums(x.value());
  op->layer.run(x, w, bias, 1, [&](const Tensor& logits, int64_t begin, int64_t end) {
    const Tensor labels = targets.slice(begin, end);
    if (op->layer.wants_gradient()) {
      x.kernels().cross_entropy_in_place(all, logits, labels, v, options);
    } else {
      x.kernels().cross_entropy(all, {}, logits, labels, v, options);
    }
  });
  return {x.tape().record(std::move(op), loss_scalar(all), {x, w, bias}), all, predictions};
}

}  // namespace gyre
