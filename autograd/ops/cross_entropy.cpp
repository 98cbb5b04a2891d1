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
    b.kernels().cross_entropy_backward(b.dinput(0), b.input(0), targets, lse, b.input(0).cols(), smoothing,
                                       loss_cotangent(b));
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

// Works in chunks of rows. Each chunk's gradients are computed for dloss = 1 while its logits are in cache; backward
// only multiplies them by dloss.
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
int64_t chunk_rows(int64_t vocabulary, DType logits, Device device) {
  if (device == Device{}) return std::clamp<int64_t>((int64_t{1} << 23) / vocabulary, 32, 1024);
  constexpr int64_t kBytes = int64_t{1} << 29;
  return std::clamp<int64_t>(kBytes / (vocabulary * int64_t(dtype_bytes(logits))), 1024, 16384);
}

// Matrix products on a GPU are faster if the rows of the logits are aligned.
int64_t padded_columns(int64_t vocabulary, Device device) {
  constexpr int64_t kMultiple = 64;
  return device == Device{} ? vocabulary : (vocabulary + kMultiple - 1) / kMultiple * kMultiple;
}

// For bf16 x, the logits are f32, except in training on a GPU, whose step would wait for their memory traffic: there
// they are bf16, as with PyTorch's autocast. Softmax and gradients are computed in fp32 in any case.
DType logits_dtype(const Tensor& x, bool wants_gradient) {
  return wants_gradient && x.device() != Device{} ? x.dtype() : statistics_dtype(x.dtype());
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
  logits.kernels().cross_entropy(all, op->lse, x, targets, x.cols(), smoothing);
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
  const bool wants_gradient = op->dx || op->dw.sum || op->dbias.sum;
  const Device device = x.value().device();
  const DType dtype = logits_dtype(x.value(), wants_gradient);
  const int64_t rows = std::min(n, chunk_rows(v, dtype, device));
  const Tensor all_logits = Tensor::empty({rows, padded_columns(v, device)}, dtype, device);
  const Tensor all_sums = zero_sums(x.value());
  const Tensor weights = x.tape().product_weight(w.value(), x.value().dtype());
  Kernels& kernels = x.kernels();
  for (int64_t begin = 0; begin < n; begin += rows) {
    const int64_t end = std::min(n, begin + rows);
    const Tensor logits = all_logits.slice(0, end - begin);
    const Tensor inputs = x.value().slice(begin, end), labels = targets.slice(begin, end);
    kernels.linear(logits, inputs, weights, bias.value());
    if (!wants_gradient) {
      kernels.cross_entropy(all_sums, {}, logits, labels, v, smoothing);
      continue;
    }
    kernels.cross_entropy_in_place(all_sums, logits, labels, v, smoothing);
    kernels.linear_backward(op->dx ? op->dx.slice(begin, end) : Tensor(), op->dw.sum, op->dbias.sum, logits, inputs,
                            weights, {});
  }
  return {x.tape().record(std::move(op), loss_scalar(all_sums), {x, w, bias}), all_sums, predictions};
}

}  // namespace gyre
