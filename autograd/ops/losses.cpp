// Losses: cross-entropy, R-Drop, squared error and the margin loss. The logits of a linear output layer are computed in
// chunks of rows.
#include <algorithm>
#include <functional>
#include <string_view>
#include <vector>

#include "gyre/autograd/ops.h"
#include "gyre/autograd/ops/composed.h"
#include "gyre/autograd/ops/formula.h"
#include "gyre/autograd/tape.h"

namespace gyre {
namespace {

// Zero sums for a loss kernel, f64 (4): loss, nll, tokens, correct (CrossEntropySums). They are on the device of
// `data`, and the loss stays there, so that a GPU's queue does not run dry in the middle of a step.
Tensor zero_sums(const Tensor& data) { return Tensor::zeros({4}, DType::f64, data.device()); }

// The loss as a tensor (1), a view of the sums.
Tensor loss_scalar(const Tensor& sums) { return sums.slice(0, 1); }

// The cotangent of a loss, on the CPU if it is the default of Tape::backward() (Op::reads_cotangent_on_cpu).
double loss_cotangent(const Backward& b) { return *b.doutput().to_cpu().to(DType::f64).data<double>(); }

// ---- What the composed losses share --------------------------------------------------------------------------------

// The losses of rows, and what their sums count, (rows, 1) each.
struct RowLosses {
  Var loss, nll, correct;  // correct: 1 or 0; one 0 for all rows if nothing counts as correct
};

// The end of a composed loss: the sum of the losses of the rows, in f64.
struct LossSum final : Op {
  std::string_view formula() const override {
    return R"(
      loss = sum of x
        dx = dloss
    )"_formula;
  }
  std::string_view name() const override { return "loss_sum"; }
  bool reads_cotangent_on_cpu() const override { return true; }
  void backward(Backward& b) override {
    const Tensor dx = b.dinput(0), zero = Tensor::zeros({1}, dx.dtype(), dx.device());
    b.kernels().unary(dx, zero, {UnaryFunction::affine, 1, loss_cotangent(b)});
  }
};

LossResult composed_result(const RowLosses& rows, int64_t predictions) {
  Tape& tape = rows.loss.tape();
  const auto total = [&](const Var& v) { return reshape(sum(cast(tape.constant(v.value()), DType::f64)), {1, 1}); };
  const Var loss = total(rows.loss), count = reshape(number_beside(loss, double(predictions)), {1, 1});
  const Tensor totals = concat({loss, total(rows.nll), count, total(rows.correct)}, 1).value().reshape({4});
  return {tape.record(std::make_unique<LossSum>(), loss_scalar(totals), {rows.loss}), totals, predictions};
}

// 1 where x > 0, else 0; a constant.
Var is_positive(const Var& x) {
  const Var large = 1e30 * x.tape().constant(x.value());
  return -maximum(-maximum(large, number_beside(x, 0)), number_beside(x, -1));
}

// The rows whose target is not ignored.
struct CountedRows {
  std::vector<int32_t> rows, labels;
  explicit CountedRows(const Tensor& targets) {
    for (int32_t i = 0; i < int32_t(targets.size()); ++i) {
      const int32_t label = targets.data<int32_t>()[i];
      if (label < 0) continue;
      rows.push_back(i);
      labels.push_back(label);
    }
  }
  Var of(const Var& x) const { return gather_rows(x, Tensor::from({int64_t(rows.size())}, rows)); }
};

// ---- The output layer of the fused losses --------------------------------------------------------------------------

// A parameter's gradient for dloss = 1, computed in the forward pass.
struct GradientDuringForward {
  Tensor sum;    // the tensor that forward adds to; undefined if the parameter requires no gradient
  Tensor saved;  // `sum`, if backward has to add it; undefined if `sum` is the parameter's gradient itself

  explicit GradientDuringForward(const Var& v);
  // `op`: for errors.
  void add_to(std::string_view op, const Tensor& gradient, double factor, Kernels& kernels) const;
};

// The output layer of a loss, logits = x(n,d) w(v,d)^T + bias(v), computed in chunks of rows, so that the logits of the
// whole batch are never in memory at once. Each chunk's gradients are computed for dloss = 1 while its logits are in
// cache; the op saves them, and backward only multiplies them by dloss.
class LinearLoss {
 public:
  // `op`: for errors, the name of the op. The bias may be an empty Var.
  LinearLoss(std::string_view op, const Var& x, const Var& w, const Var& bias);

  // Computes the logits of all rows, and gradients from those that `loss` leaves in their place. x holds the rows of
  // `passes` passes, one pass after the other; a chunk has the rows begin .. end - 1 of each pass, also one pass after
  // the other. loss(logits, begin, end): the logits may have more than v columns, for alignment. It must replace them
  // by their gradients if wants_gradient().
  using ChunkLoss = std::function<void(const Tensor& logits, int64_t begin, int64_t end)>;
  void run(const Var& x, const Var& w, const Var& bias, int passes, const ChunkLoss& loss) const;

  bool wants_gradient() const { return dx_ || dw_.sum || dbias_.sum; }
  void backward(Backward& b) const;
  void describe(OpMetadata& metadata) const;
  double flops() const { return flops_; }

 private:
  std::string_view op_;
  Tensor dx_;
  GradientDuringForward dw_, dbias_;
  double flops_;
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

void check_output_layer(std::string_view op, const Var& x, const Var& w, const Var& bias) {
  require(x.shape().rank() == 2 && w.shape().rank() == 2 && x.shape()[1] == w.shape()[1], "[", op,
          "] expected x(n,d) and w(v,d), got ", x.shape(), " and ", w.shape());
  require(!bias || bias.shape() == Shape{w.shape()[0]}, "[", op, "] expected a bias of shape (", w.shape()[0],
          "), got ", bias.shape());
}

// Checks the targets of a loss and returns the number of those that are not ignored. `op`: for errors.
int64_t count_targets(std::string_view op, const Tensor& targets, int64_t rows, int64_t vocabulary) {
  require(targets.size() == rows, "[", op, "] expected ", rows, " targets, got ", targets.size());
  int64_t counted = 0;
  for (int32_t t : targets.span<int32_t>()) {
    require(t < vocabulary, "[", op, "] targets must be below the vocabulary's size ", vocabulary, ", got ", t);
    counted += t >= 0 ? 1 : 0;
  }
  return counted;
}

GradientDuringForward::GradientDuringForward(const Var& v) {
  if (!v || !v.requires_gradient()) return;
  sum = v.tape().gradient_during_forward(v);
  if (!sum) sum = saved = Tensor::zeros(v.shape(), v.value().dtype(), v.value().device());
}

void GradientDuringForward::add_to(std::string_view op, const Tensor& gradient, double factor, Kernels& kernels) const {
  if (!gradient) return;
  require(saved.defined() || factor == 1, "[", op, "] expected a cotangent of 1 on a loss-seeded tape, got ", factor);
  if (!saved) return;
  if (factor != 1) kernels.scale(saved, saved, factor);
  kernels.add(gradient, gradient, saved);
}

LinearLoss::LinearLoss(std::string_view op, const Var& x, const Var& w, const Var& bias)
    : op_(op),
      dx_(x.requires_gradient() ? x.value().like() : Tensor()),
      dw_(w),
      dbias_(bias),
      flops_(2 * double(x.value().size()) * double(w.shape()[0])) {}

void LinearLoss::run(const Var& x, const Var& w, const Var& bias, int passes, const ChunkLoss& loss) const {
  const int64_t n = x.shape()[0] / passes, v = w.shape()[0];
  const Device device = x.value().device();
  const DType dtype = logits_dtype(x.value(), wants_gradient());
  const int64_t rows = std::min(n, chunk_rows(v, dtype, device));
  const Tensor all_logits = Tensor::empty({passes * rows, padded_columns(v, device)}, dtype, device);
  const Tensor weights = x.tape().product_weight(w.value(), x.value().dtype());
  Kernels& kernels = x.kernels();
  for (int64_t begin = 0; begin < n; begin += rows) {
    const int64_t end = std::min(n, begin + rows), count = end - begin;
    const auto logits_of = [&](int pass) { return all_logits.slice(pass * count, (pass + 1) * count); };
    const auto rows_of = [&](const Tensor& t, int pass) { return t.slice(pass * n + begin, pass * n + end); };
    for (int p = 0; p < passes; ++p) x.tape().multiply(logits_of(p), rows_of(x.value(), p), w.value(), bias.value());
    loss(all_logits.slice(0, passes * count), begin, end);
    if (!wants_gradient()) continue;
    for (int p = 0; p < passes; ++p) {
      kernels.linear_backward(dx_ ? rows_of(dx_, p) : Tensor(), dw_.sum, dbias_.sum, logits_of(p),
                              rows_of(x.value(), p), weights, {});
    }
  }
}

void LinearLoss::backward(Backward& b) const {
  const double factor = loss_cotangent(b);
  if (dx_ && factor != 1) b.kernels().scale(dx_, dx_, factor);
  b.set_gradient(0, dx_);
  dw_.add_to(op_, b.dparameter(1), factor, b.kernels());
  dbias_.add_to(op_, b.dparameter(2), factor, b.kernels());
}

void LinearLoss::describe(OpMetadata& metadata) const {
  metadata.save("dx", dx_);
  metadata.save("dw", dw_.saved);
  metadata.save("dbias", dbias_.saved);
}

void describe_options(OpMetadata& metadata, const CrossEntropyOptions& options) {
  metadata.attribute("smoothing", options.smoothing);
  if (options.z_loss > 0) metadata.attribute("z_loss", options.z_loss);
}

// p = softmax(logits) of rows with these labels. z_loss weighs lse^2, the square of the log of the sum of exponentials.
RowLosses composed_cross_entropy(const Var& logits, const std::vector<int32_t>& labels,
                                 const CrossEntropyOptions& options) {
  const int64_t n = logits.shape()[0], v = logits.shape()[1];
  const auto of_label = [&](const Var& x) {
    return pick(x, n, 1, [&](int64_t i, int64_t /*column*/) { return i * v + labels[size_t(i)]; });
  };
  const Var log_p = log_softmax(logits), logit = of_label(logits), nll = -of_label(log_p);
  Var loss = nll;
  if (options.smoothing > 0) loss = (1 - options.smoothing) * nll - options.smoothing * mean(log_p, 1);
  const Var lse = logit + nll;
  if (options.z_loss > 0) loss = loss + options.z_loss * lse * lse;
  return {loss, nll, 1 - is_positive(max(logits, 1) - logit)};
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
  bool reads_cotangent_on_cpu() const override { return true; }
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
  bool reads_cotangent_on_cpu() const override { return true; }
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
  if (!logits.tape().fused(&Kernels::cross_entropy_op)) {
    const CountedRows counted(targets);
    return composed_result(composed_cross_entropy(counted.of(widened(logits)), counted.labels, options), predictions);
  }
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
  check_output_layer("linear_cross_entropy", x, w, bias);
  const int64_t v = w.shape()[0];
  const int64_t predictions = count_targets("linear_cross_entropy", targets, x.shape()[0], v);
  if (!x.tape().fused(&Kernels::linear_cross_entropy_op)) {
    const CountedRows counted(targets);
    const Var logits = composed_linear(counted.of(x), w, bias);
    return composed_result(composed_cross_entropy(logits, counted.labels, options), predictions);
  }
  auto op = std::make_unique<LinearCrossEntropy>(x, w, bias);
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

namespace {

// KL(p || q) + KL(q || p) = sum of (p - q) (log p - log q)
RowLosses composed_r_drop(const Var& first, const Var& second, const std::vector<int32_t>& labels, double smoothing,
                          double alpha) {
  const RowLosses a = composed_cross_entropy(first, labels, {smoothing});
  const RowLosses b = composed_cross_entropy(second, labels, {smoothing});
  const Var log_p = log_softmax(first), log_q = log_softmax(second);
  const Var divergence = sum((exp(log_p) - exp(log_q)) * (log_p - log_q), 1);
  return {(a.loss + b.loss) / 2 + alpha / 4 * divergence, (a.nll + b.nll) / 2, a.correct};
}

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
  bool reads_cotangent_on_cpu() const override { return true; }
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
  check_output_layer("linear_r_drop", x, w, bias);
  const int64_t v = w.shape()[0];
  require(x.shape()[0] % 2 == 0, "[linear_r_drop] expected the rows of two passes, got ", x.shape()[0], " rows");
  const int64_t n = x.shape()[0] / 2, predictions = count_targets("linear_r_drop", targets, n, v);
  if (!x.tape().fused(&Kernels::linear_r_drop_op)) {
    const CountedRows counted(targets);
    const Var first = composed_linear(counted.of(slice(x, 0, 0, n)), w, bias);
    const Var second = composed_linear(counted.of(slice(x, 0, n, n)), w, bias);
    return composed_result(composed_r_drop(first, second, counted.labels, smoothing, alpha), predictions);
  }
  auto op = std::make_unique<LinearRDrop>(x, w, bias);
  op->smoothing = smoothing;
  op->alpha = alpha;
  const Tensor all = zero_sums(x.value());
  op->layer.run(x, w, bias, 2, [&](const Tensor& logits, int64_t begin, int64_t end) {
    x.kernels().r_drop_in_place(all, logits, targets.slice(begin, end), v, smoothing, alpha);
  });
  return {x.tape().record(std::move(op), loss_scalar(all), {x, w, bias}), all, predictions};
}

// Binary cross-entropy has no op of its own: with logits (0, x), -log softmax is log(1 + exp(-x)) for label 1 and log(1
// + exp(x)) for label 0.
LossResult binary_cross_entropy(const Var& logits, const Tensor& labels) {
  require(logits.shape().rank() == 2 && logits.shape()[1] == 1, "[binary_cross_entropy] logits must be (n,1), got ",
          logits.shape());
  const Tensor& x = logits.value();
  const Tensor columns = Tensor::from({2, 1}, std::vector<float>{0, 1}).to(statistics_dtype(x.dtype())).to(x.device());
  return linear_cross_entropy(logits, logits.tape().constant(columns), {}, labels);
}

namespace {

// Copies the targets to the device, which waits for its queue once in a step.
RowLosses composed_squared_error(const Var& predictions, const Tensor& targets) {
  const int64_t n = targets.size();
  const Tensor wanted = targets.to(DType::f64);
  const Var error = reshape(predictions, {n, 1}) - constant_beside(predictions, {n, 1}, wanted.to_vector<double>());
  const Var loss = error * error;
  return {loss, loss, number_beside(predictions, 0)};
}

struct SquaredError final : Op {
  std::string_view formula() const override {
    return R"(
      loss = sum over rows of (x - target)^2
        dx = 2 dloss (x - target)
    )"_formula;
  }
  Tensor targets;  // saved
  std::string_view name() const override { return "squared_error"; }
  bool reads_cotangent_on_cpu() const override { return true; }
  void describe(OpMetadata& metadata) const override { metadata.save("targets", targets); }
  void backward(Backward& b) override {
    b.kernels().squared_error_backward(b.dinput(0), b.input(0), targets, loss_cotangent(b));
  }
};

}  // namespace

LossResult squared_error(const Var& predictions, const Tensor& targets) {
  const Shape& shape = predictions.shape();
  require(shape.rank() == 1 || (shape.rank() == 2 && shape[1] == 1),
          "[squared_error] predictions must be (n) or (n,1), got ", shape);
  require(targets.size() == shape[0], "[squared_error] expected ", shape[0], " targets, got ", targets.size());
  require(targets.dtype() == DType::f32, "[squared_error] targets must be f32, got ", targets.dtype());
  if (!predictions.tape().fused(&Kernels::squared_error_op))
    return composed_result(composed_squared_error(widened(predictions), targets), shape[0]);
  auto op = std::make_unique<SquaredError>();
  op->targets = targets;
  const Tensor& x = predictions.value();
  const Tensor all = zero_sums(x);
  predictions.kernels().squared_error(all, x, targets);
  return {predictions.tape().record(std::move(op), loss_scalar(all), {predictions}), all, x.size()};
}

namespace {

RowLosses composed_margin_loss(const Var& scores, double margin) {
  const Var pairs = reshape(scores, {scores.value().size() / 2, 2});
  const Var a = slice(pairs, 1, 0, 1), b = slice(pairs, 1, 1, 1);
  const Var loss = relu(margin - (a - b));
  return {loss, loss, is_positive(a - b)};
}

struct MarginLoss final : Op {
  std::string_view formula() const override {
    return R"(
      loss = sum over pairs of max(0, margin - a + b)
        da = -dloss, db = dloss   where margin - a + b > 0, else 0
    )"_formula;
  }
  double margin = 0;
  std::string_view name() const override { return "margin_loss"; }
  bool reads_cotangent_on_cpu() const override { return true; }
  void describe(OpMetadata& metadata) const override { metadata.attribute("margin", margin); }
  void backward(Backward& b) override {
    b.kernels().margin_loss_backward(b.dinput(0), b.input(0), margin, loss_cotangent(b));
  }
};

}  // namespace

LossResult margin_loss(const Var& scores, double margin) {
  const Shape& shape = scores.shape();
  require((shape.rank() == 1 || (shape.rank() == 2 && shape[1] == 1)) && shape[0] % 2 == 0,
          "[margin_loss] scores must be (2n) or (2n,1), got ", shape);
  if (!scores.tape().fused(&Kernels::margin_loss_op))
    return composed_result(composed_margin_loss(widened(scores), margin), shape[0] / 2);
  auto op = std::make_unique<MarginLoss>();
  op->margin = margin;
  const Tensor& x = scores.value();
  const Tensor all = zero_sums(x);
  scores.kernels().margin_loss(all, x, margin);
  return {scores.tape().record(std::move(op), loss_scalar(all), {scores}), all, x.size() / 2};
}

}  // namespace gyre
