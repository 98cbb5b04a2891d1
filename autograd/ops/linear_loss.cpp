#include "gyre/autograd/ops/linear_loss.h"

#include <algorithm>

#include "gyre/autograd/ops/loss_sums.h"

namespace gyre {
namespace {

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

const Var& checked_weight(std::string_view op, const Var& x, const Var& w, const Var& bias) {
  require(x.shape().rank() == 2 && w.shape().rank() == 2 && x.shape()[1] == w.shape()[1], "[", op,
          "] expected x(n,d) and w(v,d), got ", x.shape(), " and ", w.shape());
  require(!bias || bias.shape() == Shape{w.shape()[0]}, "[", op, "] expected a bias of shape (", w.shape()[0],
          "), got ", bias.shape());
  return w;
}

}  // namespace

int64_t count_targets(std::string_view op, const Tensor& targets, int64_t rows, int64_t vocabulary) {
  require(targets.size() == rows, "[", op, "] expected ", rows, " targets, got ", targets.size());
  int64_t counted = 0;
  for (int32_t t : targets.span<int32_t>()) {
    require(t < vocabulary, "[", op, "] targets must be below the vocabulary's size ", vocabulary, ", got ", t);
    counted += t >= 0 ? 1 : 0;
  }
  return counted;
}

FusedGradient::FusedGradient(const Var& v) {
  if (!v || !v.requires_gradient()) return;
  sum = v.tape().fused_gradient(v);
  if (!sum) sum = saved = Tensor::zeros(v.shape(), v.value().dtype(), v.value().device());
}

void FusedGradient::add_to(std::string_view op, const Tensor& gradient, double factor, Kernels& kernels) const {
  if (!gradient) return;
  require(saved.defined() || factor == 1, "[", op, "] expected a cotangent of 1 on a loss-seeded tape, got ", factor);
  if (!saved) return;
  if (factor != 1) kernels.scale(saved, saved, factor);
  kernels.add(gradient, gradient, saved);
}

LinearLoss::LinearLoss(std::string_view op, const Var& x, const Var& w, const Var& bias)
    : op_(op),
      dx_(x.requires_gradient() ? x.value().like() : Tensor()),
      dw_(checked_weight(op, x, w, bias)),
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
  b.give(0, dx_);
  dw_.add_to(op_, b.dparameter(1), factor, b.kernels());
  dbias_.add_to(op_, b.dparameter(2), factor, b.kernels());
}

void LinearLoss::describe(OpMetadata& metadata) const {
  metadata.save("dx", dx_);
  metadata.save("dw", dw_.saved);
  metadata.save("dbias", dbias_.saved);
}

}  // namespace gyre
