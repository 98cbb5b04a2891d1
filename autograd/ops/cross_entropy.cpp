#include "gyre/autograd/ops.h"
#include "gyre/autograd/ops/formula.h"
#include "gyre/autograd/ops/loss_sums.h"

namespace gyre {
namespace {

struct CrossEntropy final : Op {
  std::string_view formula() const override {
    return R"(
      loss = sum over rows of lse - (1 - eps) x_t - eps mean(x),  lse = log(sum(exp(x)))
        dx = dloss (softmax(x) - (1 - eps) onehot(t) - eps / v)
    )"_formula;
  }
  Tensor targets, lse;  // saved: the log-sum-exp of each row
  double smoothing = 0;
  std::string_view name() const override { return "cross_entropy"; }
  void describe(OpMetadata& metadata) const override {
    metadata.attribute("smoothing", smoothing);
    metadata.save("targets", targets);
    metadata.save("lse", lse);
  }
  void backward(Backward& b) override {
    b.kernels().cross_entropy_backward(b.dinput(0), b.input(0), targets, lse, smoothing, loss_cotangent(b));
  }
};

// Checks the targets and returns the number of those that are not ignored.
int64_t count_targets(const Tensor& targets, int64_t rows, int64_t vocabulary) {
  require(targets.size() == rows, "[cross_entropy] expected ", rows, " targets, got ", targets.size());
  int64_t counted = 0;
  for (int32_t t : targets.span<int32_t>()) {
    require(t < vocabulary, "[cross_entropy] targets must be below the vocabulary's size ", vocabulary, ", got ", t);
    counted += t >= 0 ? 1 : 0;
  }
  return counted;
}

// A parameter's gradient for dloss = 1, computed in the forward pass.
struct FusedGradient {
  Tensor sum;    // the tensor that forward adds to; undefined if the parameter requires no gradient
  Tensor saved;  // `sum`, if backward has to add it; undefined if `sum` is the parameter's gradient itself

  explicit FusedGradient(const Var& v) {
    if (!v || !v.requires_gradient()) return;
    sum = v.tape().fused_gradient(v);
    if (!sum) sum = saved = Tensor::zeros(v.shape(), v.value().dtype(), v.value().device());
  }
  void add_to(const Tensor& gradient, double factor, Kernels& kernels) const {
    if (!gradient) return;
    require(saved.defined() || factor == 1,
            "[linear_cross_entropy] expected a cotangent of 1 on a loss-seeded tape, got ", factor);
    if (!saved) return;
    if (factor != 1) kernels.scale(saved, saved, factor);
    kernels.add(gradient, gradient, saved);
  }
};

// Works in chunks of rows. For bf16 x, the logits are f32. Each chunk's gradients are computed for dloss = 1 while its
// logits are in cache; backward only multiplies them by dloss.
struct LinearCrossEntropy final : Op {
  std::string_view formula() const override {
    return R"(
      loss = cross_entropy(logits),  logits = x w^T + bias
        dlogits = dloss (softmax(logits) - (1 - eps) onehot(t) - eps / v)
        dx = dlogits w;  dw += dlogits^T x;  dbias += sum_rows(dlogits)
    )"_formula;
  }
  Tensor dx;  // saved, for dloss = 1
  FusedGradient dw, dbias;
  double smoothing = 0;
  double multiply_adds = 0;
  LinearCrossEntropy(const Var& w, const Var& bias) : dw(w), dbias(bias) {}
  std::string_view name() const override { return "linear_cross_entropy"; }
  void describe(OpMetadata& metadata) const override {
    metadata.attribute("smoothing", smoothing);
    metadata.save("dx", dx);
    metadata.save("dw", dw.saved);
    metadata.save("dbias", dbias.saved);
  }
  double flops() const override { return 2 * multiply_adds; }
  void backward(Backward& b) override {
    const double factor = loss_cotangent(b);
    if (dx && factor != 1) b.kernels().scale(dx, dx, factor);
    b.give(0, dx);
    dw.add_to(b.dparameter(1), factor, b.kernels());
    dbias.add_to(b.dparameter(2), factor, b.kernels());
  }
};

// Rows of a chunk: enough that the cost of reading w and adding to dw, once per chunk, is small compared to the matrix
// products, and that the products fill a GPU.
int64_t chunk_rows(int64_t vocabulary, Device device) {
  if (device == Device{}) return std::clamp<int64_t>((int64_t{1} << 23) / vocabulary, 32, 1024);
  return std::clamp<int64_t>((int64_t{1} << 27) / vocabulary, 1024, 16384);
}

}  // namespace

LossResult cross_entropy(const Var& logits, const Tensor& targets, double smoothing) {
  require(logits.shape().rank() == 2, "[cross_entropy] logits must be (n,v), got ", logits.shape().text());
  const int64_t predictions = count_targets(targets, logits.shape()[0], logits.shape()[1]);
  auto op = std::make_unique<CrossEntropy>();
  op->targets = targets;
  op->smoothing = smoothing;
  const Tensor& x = logits.value();
  op->lse = Tensor::empty({x.rows()}, statistics_dtype(x.dtype()), x.device());
  const Tensor all = zero_sums(x);
  logits.kernels().cross_entropy(all, op->lse, x, targets, smoothing);
  return {logits.tape().record(std::move(op), loss_scalar(all), {logits}), all, predictions};
}

LossResult linear_cross_entropy(const Var& x, const Var& w, const Var& bias, const Tensor& targets, double smoothing) {
  require(x.shape().rank() == 2 && w.shape().rank() == 2 && x.shape()[1] == w.shape()[1],
          "[linear_cross_entropy] expected x(n,d) and w(v,d), got ", x.shape().text(), " and ", w.shape().text());
  const int64_t n = x.shape()[0], v = w.shape()[0];
  require(!bias || bias.shape() == Shape{v}, "[linear_cross_entropy] expected a bias of shape (", v, "), got ",
          bias.shape().text());
  const int64_t predictions = count_targets(targets, n, v);
  auto op = std::make_unique<LinearCrossEntropy>(w, bias);
  op->smoothing = smoothing;
  op->multiply_adds = double(x.value().size()) * double(v);
  if (x.requires_gradient()) op->dx = x.value().like();
  const Device device = x.value().device();
  const int64_t rows = std::min(n, chunk_rows(v, device));
  const DType dtype = statistics_dtype(x.value().dtype());
  const Tensor all_logits = Tensor::empty({rows, v}, dtype, device), all_lse = Tensor::empty({rows}, dtype, device);
  // CPU products round their operands while packing them; GPU products need operands of one dtype.
  const Tensor all_dlogits = device == Device{} ? all_logits : Tensor::empty({rows, v}, x.value().dtype(), device);
  const Tensor all_sums = zero_sums(x.value());
  const Tensor weights = x.tape().product_weight(w.value(), x.value().dtype());
  Kernels& kernels = x.kernels();
  for (int64_t begin = 0; begin < n; begin += rows) {
    const int64_t end = std::min(n, begin + rows);
    const Tensor logits = all_logits.slice(0, end - begin), lse = all_lse.slice(0, end - begin);
    const Tensor inputs = x.value().slice(begin, end), labels = targets.slice(begin, end);
    kernels.linear(logits, inputs, weights, bias.value());
    kernels.cross_entropy(all_sums, lse, logits, labels, smoothing);
    if (!op->dx && !op->dw.sum && !op->dbias.sum) continue;
    const Tensor dlogits = all_dlogits.slice(0, end - begin);
    kernels.cross_entropy_backward(dlogits, logits, labels, lse, smoothing, 1);
    kernels.linear_backward(op->dx ? op->dx.slice(begin, end) : Tensor(), op->dw.sum, op->dbias.sum, dlogits, inputs,
                            weights, {});
  }
  return {x.tape().record(std::move(op), loss_scalar(all_sums), {x, w, bias}), all_sums, predictions};
}

}  // namespace gyre
