// Losses and the choice of tokens: core/cuda/loss and topk.cu.
#include "gyre/core/virtual_gpu/report.h"
#include "gyre/core/virtual_gpu/virtual_kernels.h"

namespace gyre::virtual_gpu {

constexpr size_t kKeptBytes = 96 << 10;  // as in cross_entropy.cu

void VirtualKernels::cross_entropy(const Tensor& /*sums*/, const Tensor& lse, const Tensor& logits,
                                   const Tensor& /*targets*/, int64_t /*v*/, const CrossEntropyOptions& /*options*/) {
  if (logits.size() == 0) return;
  const Tensor terms = temporary({logits.rows(), 4}, DType::f64);
  report({.name = "cross-entropy", .launches = 2, .bytes = bytes_of({logits, lse, terms, terms})});
}

void VirtualKernels::cross_entropy_backward(const Tensor& dlogits, const Tensor& logits, const Tensor& /*targets*/,
                                            const Tensor& lse, int64_t /*v*/, const CrossEntropyOptions& /*options*/,
                                            double /*dloss*/) {
  report_pass("cross-entropy gradient", {dlogits, logits, lse});
}

// One pass while a row fits into the shared memory of a block.
void VirtualKernels::cross_entropy_in_place(const Tensor& sums, const Tensor& logits, const Tensor& targets, int64_t v,
                                            const CrossEntropyOptions& options) {
  if (logits.size() == 0) return;
  const size_t element = dtype_bytes(logits.dtype());
  if (size_t(v) * element > kKeptBytes || size_t(logits.cols()) * element % 16 != 0) {
    const Tensor lse = temporary({logits.rows()}, statistics_dtype(logits.dtype()));
    cross_entropy(sums, lse, logits, targets, v, options);
    return cross_entropy_backward(logits, logits, targets, lse, v, options, 1);
  }
  const Tensor terms = temporary({logits.rows(), 4}, DType::f64);
  report({.name = "cross-entropy and gradient", .launches = 2, .bytes = bytes_of({logits, logits, terms, terms})});
}

// A first pass reads both rows of a token, and a second one reads them again and writes the gradients.
void VirtualKernels::r_drop_in_place(const Tensor& /*sums*/, const Tensor& logits, const Tensor& targets, int64_t /*v*/,
                                     double /*smoothing*/, double /*alpha*/) {
  if (logits.size() == 0) return;
  const Tensor terms = temporary({targets.size(), 4}, DType::f64);
  report({.name = "R-Drop and gradient", .launches = 2, .bytes = bytes_of({logits, logits, logits, terms, terms})});
}

void VirtualKernels::squared_error(const Tensor& /*sums*/, const Tensor& predictions, const Tensor& targets) {
  report_pass("squared error", {predictions, targets});
}

void VirtualKernels::squared_error_backward(const Tensor& dpredictions, const Tensor& predictions,
                                            const Tensor& targets, double /*dloss*/) {
  report_pass("squared error gradient", {dpredictions, predictions, targets});
}

void VirtualKernels::margin_loss(const Tensor& /*sums*/, const Tensor& scores, double /*margin*/) {
  report_pass("margin loss", {scores});
}

void VirtualKernels::margin_loss_backward(const Tensor& dscores, const Tensor& scores, double /*margin*/,
                                          double /*dloss*/) {
  report_pass("margin loss gradient", {dscores, scores});
}

void VirtualKernels::log_softmax(const Tensor& out, const Tensor& x) { report_pass("log-softmax", {out, x}); }

void VirtualKernels::topk(const Tensor& values, const Tensor& columns, const Tensor& x, int64_t /*also*/) {
  report_pass("top k", {x});
  values.zero();
  columns.zero();
  for (int copies = 0; copies < 2; ++copies) report({.name = "wait for a copy", .kind = GpuWork::Kind::wait});
}

}  // namespace gyre::virtual_gpu
