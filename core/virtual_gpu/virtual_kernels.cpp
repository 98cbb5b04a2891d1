#include "gyre/core/virtual_gpu/virtual_kernels.h"

#include <algorithm>
#include <utility>

#include "gyre/core/error.h"
#include "gyre/core/kernels/gpu_blocks.h"
#include "gyre/core/kernels/repeat.h"

namespace gyre {
namespace {

std::function<void(const GpuWork&)>& listener() {
  static std::function<void(const GpuWork&)> current;
  return current;
}

}  // namespace

GpuWorkScope::GpuWorkScope(std::function<void(const GpuWork&)> listener_of_scope) {
  require(!listener(), "[virtual GPU] expected one listener at a time");
  listener() = std::move(listener_of_scope);
}

GpuWorkScope::~GpuWorkScope() { listener() = nullptr; }

Kernels& virtual_kernels() {
  static virtual_gpu::VirtualKernels kernels(false);
  return kernels;
}

namespace virtual_gpu {

Kernels& VirtualKernels::with_tf32(bool allowed) {
  static VirtualKernels rounding(true);
  return allowed ? rounding : virtual_kernels();
}

void report(const GpuWork& work) {
  if (listener()) listener()(work);
}

}  // namespace virtual_gpu
}  // namespace gyre

namespace gyre::virtual_gpu {

// ---- Linear layers: core/cuda/gemm ---------------------------------------------------------------------------------

namespace {

Precision operands(DType dtype, bool tf32) {
  if (dtype == DType::bf16) return Precision::bf16;
  return tf32 ? Precision::tf32 : Precision::fp32;
}

// The first n columns of c(m, at least n) = a b, or a b + `add`, with a(m,k) and b(k,n) of type `dtype` in any layout.
void report_product(const Tensor& c, int64_t n, int64_t k, DType dtype, bool tf32, const Tensor& add) {
  if (c.size() == 0 || k == 0) return;
  const int64_t m = c.rows();
  report({.name = "product",
          .kind = GpuWork::Kind::product,
          .bytes = double(m + n) * double(k) * double(dtype_bytes(dtype)) + bytes_of({c, add}),
          .flops = 2 * double(m) * double(n) * double(k),
          .precision = operands(dtype, tf32),
          .rows = m,
          .columns = n,
          .summed = k});
}

// The tensor in another type, by a pass of its own if it does not have the type.
Tensor in_type(const Tensor& t, DType dtype) {
  if (!t || t.dtype() == dtype) return t;
  Tensor rounded = temporary(t.shape(), dtype);
  report_pass("conversion", {rounded, t});
  return rounded;
}

void product_backward(const Tensor& dx, const Tensor& dw, const Tensor& dy, const Tensor& x, const Tensor& w,
                      const Tensor& dx_before, bool tf32) {
  if (!dx && !dw) return;
  const Tensor g = in_type(dy, x.dtype());
  if (dx) {
    const Tensor rounded = in_type(w, x.dtype());
    report_product(dx, dx.cols(), w.rows(), x.dtype(), tf32, dx_before);
  }
  if (dw) report_product(dw, dw.cols(), dy.rows(), x.dtype(), tf32, dw);
}

}  // namespace

void VirtualKernels::linear(const Tensor& y, const Tensor& x, const Tensor& w, const Tensor& bias) {
  const Tensor weights = in_type(w, x.dtype()), rounded_bias = in_type(bias, y.dtype());
  report_product(y, w.rows(), x.cols(), x.dtype(), tf32_, {});
}

void VirtualKernels::symmetric_product(const Tensor& y, const Tensor& x, const Tensor& w) { linear(y, x, w, {}); }

void VirtualKernels::linear_backward(const Tensor& dx, const Tensor& dw, const Tensor& dbias, const Tensor& dy,
                                     const Tensor& x, const Tensor& w, const Tensor& dx_before) {
  product_backward(dx, dw, dy, x, w, dx_before, tf32_);
  if (!dbias || dy.size() == 0) return;
  const Tensor partial = partial_sums(dy.rows(), dbias.size(), dy.dtype());
  report({.name = "bias gradient", .launches = 2, .bytes = bytes_of({dy, partial, partial})});
}

void VirtualKernels::linear_activation(const Tensor& y, const Tensor& pre, const Tensor& x, const Tensor& w,
                                       const Tensor& bias, Activation kind, const DropoutMask& mask) {
  const bool fused = kind == Activation::relu && !pre && bias;
  linear(pre ? pre : y, x, w, bias);
  if (!fused || mask.rate > 0) report_pass(fused ? "dropout" : "activation", {y, pre ? pre : y}, mask);
}

void VirtualKernels::linear_activation_backward(const Tensor& dx, const Tensor& dw, const Tensor& dbias,
                                                const Tensor& dy, const Tensor& x, const Tensor& w, const Tensor& saved,
                                                const Tensor& dx_before, Activation kind, const DropoutMask& mask) {
  const Tensor dpre = dy.like();
  const Tensor partial = dbias ? partial_sums(dy.rows(), dy.cols(), dy.dtype()) : Tensor();
  if (dy.size() > 0) {
    report({.name = "activation gradient",
            .launches = dbias ? 2 : 1,
            .bytes = bytes_of({dpre, dy, saved, partial, partial}),
            .random_numbers = kind != Activation::relu && mask.rate > 0 ? double(dy.size()) : 0});
  }
  product_backward(dx, dw, dpre, x, w, dx_before, tf32_);
}

// ---- Elementwise operations ----------------------------------------------------------------------------------------
// Also embeddings and rotary positions: core/cuda/elementary.cu, activation.cu, dropout.cu, embedding.cu and rope.cu.

void VirtualKernels::activation(const Tensor& y, const Tensor& x, Activation /*kind*/) {
  report_pass("elementwise activation", {y, x});
}

void VirtualKernels::activation_backward(const Tensor& dx, const Tensor& dy, const Tensor& x, Activation /*kind*/) {
  report_pass("elementwise activation gradient", {dx, dy, x});
}

void VirtualKernels::gated_activation(const Tensor& y, const Tensor& x, Activation /*kind*/) {
  report_pass("gated activation", {y, x});
}

void VirtualKernels::gated_activation_backward(const Tensor& dx, const Tensor& dy, const Tensor& x,
                                               Activation /*kind*/) {
  report_pass("gated activation gradient", {dx, dy, x});
}

namespace {

// A partial sum for each block of the sum of all elements.
Tensor block_sums(const Tensor& whole) {
  const int64_t pack = pack_size(dtype_bytes(whole.dtype()));
  return temporary({sum_blocks((whole.size() + pack - 1) / pack)}, statistics_dtype(whole.dtype()));
}

// `to` = what a pass over `whole` computes from the tensors `read`, summed over the repetitions of `to`.
void report_sums(std::string_view name, const Tensor& to, const Tensor& whole, std::initializer_list<Tensor> read) {
  if (whole.size() == 0) return;
  const double bytes = bytes_of(read) + bytes_of({to});
  const Repeat repeat = repeat_of(to, whole);
  if (repeat == Repeat::none) return report({.name = name, .bytes = bytes});
  const DType exact = statistics_dtype(whole.dtype());
  const Tensor sums = to.dtype() == exact ? to : temporary(to.shape(), exact);
  switch (repeat) {
    case Repeat::none:
      break;
    case Repeat::column:
      report({.name = "sums of rows", .bytes = bytes});
      break;
    case Repeat::row:
    case Repeat::element: {
      const bool row = repeat == Repeat::row;
      const Tensor partial = row ? partial_sums(whole.rows(), whole.cols(), whole.dtype()) : block_sums(whole);
      if (row) sums.zero();
      report({.name = row ? "sums of columns" : "sum of all elements",
              .launches = 2,
              .bytes = bytes + bytes_of({partial, partial})});
    }
  }
  if (to.dtype() != exact) report_pass("conversion", {to, sums});
}

}  // namespace

void VirtualKernels::unary(const Tensor& y, const Tensor& x, const ElementFunction& f) {
  const bool converts = f.kind == UnaryFunction::identity;
  if (converts && x.size() == y.size()) return report_pass("conversion", {y, x});
  if (are_alike(y, x)) return report_pass("function", {y, x});
  report_pass("repetition", {y, x});
  if (!f.is_multiple() && !converts) report_pass("function", {y, y});
}

void VirtualKernels::unary_backward(const Tensor& dx, const Tensor& dy, const Tensor& x, const ElementFunction& /*f*/) {
  report_pass("function gradient", {dx, dy, x});
}

void VirtualKernels::binary(const Tensor& y, const Tensor& a, const Tensor& b, PairFunction f) {
  const std::string_view name = f == PairFunction::add ? "sum" : "arithmetic";
  report_pass(are_alike(y, a, b) ? name : "arithmetic with repetition", {y, a, b});
}

void VirtualKernels::binary_backward(const Tensor& da, const Tensor& db, const Tensor& dy, const Tensor& a,
                                     const Tensor& b, PairFunction f) {
  const bool linear = f == PairFunction::add || f == PairFunction::subtract;
  for (const Tensor& gradient : {da, db}) {
    if (gradient) report_sums("arithmetic gradient", gradient, dy, {dy, linear ? Tensor() : a, linear ? Tensor() : b});
  }
}

void VirtualKernels::where(const Tensor& y, const Tensor& mask, const Tensor& a, const Tensor& b) {
  report_pass("choice", {y, mask, a, b});
}

void VirtualKernels::where_backward(const Tensor& da, const Tensor& db, const Tensor& dy, const Tensor& mask) {
  for (const Tensor& gradient : {da, db}) {
    if (gradient) report_sums("choice gradient", gradient, dy, {dy, mask});
  }
}

void VirtualKernels::sum(const Tensor& y, const Tensor& x, double /*factor*/) { report_sums("sums", y, x, {x}); }

void VirtualKernels::largest(const Tensor& y, const Tensor& x) { report_pass("maxima", {x, y}); }

void VirtualKernels::largest_backward(const Tensor& dx, const Tensor& dy, const Tensor& x, const Tensor& y) {
  report_pass("gradient of maxima", {dx, x, x, dy, y});
}

void VirtualKernels::matmul(const Tensor& y, const Tensor& a, const Tensor& b, bool transpose_a, bool /*transpose_b*/) {
  const DType dtype = a.dtype() == DType::bf16 ? a.dtype() : b.dtype();
  const Tensor x = in_type(a, dtype), w = in_type(b, dtype);
  report_product(y, y.cols(), a.dim(transpose_a ? 0 : 1), dtype, tf32_, {});
}

void VirtualKernels::transpose(const Tensor& y, const Tensor& x) { report_pass("transpose", {y, x}); }

void VirtualKernels::copy_columns(const Tensor& y, int64_t /*y_first*/, const Tensor& x, int64_t /*x_first*/,
                                  int64_t count, bool add) {
  if (y.rows() == 0 || count == 0) return;
  const size_t accesses = (add ? 2 : 1) * dtype_bytes(y.dtype()) + dtype_bytes(x.dtype());
  report({.name = "copy of columns", .bytes = double(y.rows()) * double(count) * double(accesses)});
}

void VirtualKernels::softmax(const Tensor& y, const Tensor& x) { report_pass("softmax", {y, x}); }

void VirtualKernels::softmax_backward(const Tensor& dx, const Tensor& dy, const Tensor& y) {
  report_pass("softmax gradient", {dx, dy, y});
}

void VirtualKernels::log_softmax_backward(const Tensor& dx, const Tensor& dy, const Tensor& y) {
  report_pass("log-softmax gradient", {dx, dy, dy, y});
}

void VirtualKernels::dropout(const Tensor& y, const Tensor& x, const Tensor& residual, const DropoutMask& mask) {
  report_pass("dropout", {y, x, residual}, mask);
}

void VirtualKernels::embedding(const Tensor& y, const Tensor& table, const Tensor& /*ids*/, double /*factor*/) {
  if (y.size() == 0) return;
  const double looked_up = double(y.size()) * double(dtype_bytes(table.dtype()));
  report({.name = "lookup", .bytes = bytes_of({y}) + looked_up});
}

// Reads the gradient, and updates at most one row of the table per id.
void VirtualKernels::embedding_backward(const Tensor& dtable, const Tensor& dy, const Tensor& /*ids*/,
                                        double /*factor*/) {
  if (dy.size() == 0) return;
  const auto rows = double(std::min(dy.rows(), dtable.rows()));
  const double updated = 2 * rows * double(dtable.cols()) * double(dtype_bytes(dtable.dtype()));
  report({.name = "sums by id", .launches = 2, .bytes = bytes_of({dy}) + updated});
}

// The frequencies may be a constant on the CPU.
void VirtualKernels::rotary_angles(const Tensor& angles, const Tensor& frequencies, const RopeShape& /*rotary*/) {
  const Tensor here = frequencies.to(angles.device());
  report_pass("rotary angles", {angles});
}

void VirtualKernels::rope(const HeadColumns& y, const HeadColumns& x, const Tensor& positions, const Tensor& /*angles*/,
                          const RopeShape& rotary, int64_t width, bool /*inverse*/) {
  const double elements = double(positions.size()) * double(rotary.heads * width);
  if (elements == 0) return;
  report({.name = "rotation", .bytes = elements * double(dtype_bytes(y.rows.dtype()) + dtype_bytes(x.rows.dtype()))});
}

void VirtualKernels::rope_frequencies_backward(const Tensor& /*dfrequencies*/, const Tensor& dy, const Tensor& y,
                                               const Tensor& /*positions*/, const RopeShape& /*rotary*/) {
  if (y.size() > 0) report({.name = "frequency gradient", .launches = 2, .bytes = bytes_of({dy, y})});
}

// ---- Layer norm: core/cuda/layer_norm.cu ---------------------------------------------------------------------------

namespace {

// Rows that a block of backward processes at the same time. Rows that are too wide for a GPU count as the widest.
int64_t teams_of_block(const Tensor& rows) {
  const auto& teams = kNormBackwardTeams;
  return teams[std::min(norm_team(teams, rows.cols(), pack_size(dtype_bytes(rows.dtype()))), teams.size() - 1)].teams();
}

// The first of the tensors is dy. `sums`: of how many vectors each block stores partial sums.
void report_backward(std::initializer_list<Tensor> tensors, int64_t sums, double random_numbers) {
  const Tensor& dy = *tensors.begin();
  if (dy.size() == 0) return;
  const int64_t blocks = norm_gradient_blocks(dy.rows(), teams_of_block(dy));
  const Tensor partial = sums > 0 ? temporary({blocks, sums, dy.cols()}, statistics_dtype(dy.dtype())) : Tensor();
  report({.name = "norm gradient",
          .launches = sums > 0 ? 2 : 1,
          .bytes = bytes_of(tensors) + bytes_of({partial, partial}),
          .random_numbers = random_numbers});
}

}  // namespace

void VirtualKernels::layer_norm(const Tensor& y, const Tensor& mean, const Tensor& rstd, const Tensor& x,
                                const Tensor& /*gamma*/, const Tensor& /*beta*/, double /*epsilon*/) {
  report_pass("norm", {y, x, mean, rstd});
}

void VirtualKernels::layer_norm_backward(const Tensor& dx, const Tensor& dgamma, const Tensor& dbeta, const Tensor& dy,
                                         const Tensor& x, const Tensor& /*gamma*/, const Tensor& mean,
                                         const Tensor& rstd, const Tensor& dx_before) {
  report_backward({dy, x, dx, dx_before, mean, rstd}, norm_gradient_sums(dgamma || dbeta, false), 0);
}

void VirtualKernels::residual_layer_norm(const Tensor& y, const Tensor& sum, const Tensor& mean, const Tensor& rstd,
                                         const Tensor& x, const Tensor& residual, const Tensor& /*gamma*/,
                                         const Tensor& /*beta*/, double /*epsilon*/, const DropoutMask& mask) {
  report_pass("norm", {y, x, residual, sum, mean, rstd}, mask);
}

void VirtualKernels::residual_layer_norm_backward(const Tensor& dx, const Tensor& dresidual, const Tensor& dgamma,
                                                  const Tensor& dbeta, const Tensor& dbias, const Tensor& dy,
                                                  const Tensor& sum, const Tensor& /*gamma*/, const Tensor& mean,
                                                  const Tensor& rstd, const DropoutMask& mask) {
  report_backward({dy, sum, dx, dresidual, mean, rstd}, norm_gradient_sums(dgamma || dbeta, dbias.defined()),
                  dx && mask.rate > 0 ? double(dy.size()) : 0);
}

// ---- Losses and the choice of tokens: core/cuda/loss and topk.cu ---------------------------------------------------

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
  if (!keeps_row(logits, v)) {
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

void VirtualKernels::log_softmax(const Tensor& out, const Tensor& x) { report_pass("log-softmax", {out, x}); }

void VirtualKernels::topk(const Tensor& values, const Tensor& columns, const Tensor& x, int64_t /*also*/) {
  report_pass("top k", {x});
  values.zero();
  columns.zero();
  for (int copies = 0; copies < 2; ++copies) report({.name = "wait for a copy", .kind = GpuWork::Kind::wait});
}

// ---- Optimizer passes: core/cuda/optimizer.cu and muon.cu ----------------------------------------------------------

namespace {

// The pass covers the ranges: it reads and writes the tensors there.
void report_ranges(std::string_view name, const UpdateRanges& ranges, std::initializer_list<Tensor> read_and_written) {
  double bytes = 0;
  for (const Tensor& t : read_and_written) bytes += 2.0 * double(dtype_bytes(t.dtype()));
  report({.name = name, .bytes = double(ranges.units) * double(kUpdateUnit) * bytes});
}

}  // namespace

void VirtualKernels::block_square_sums(const Tensor& sums, const Tensor& x) { report_pass("gradient norm", {x, sums}); }

void VirtualKernels::judge_gradient(const Tensor& verdict, const Tensor& squares, const GradientLimits& /*limits*/) {
  report_pass("verdict", {verdict, squares});
}

void VirtualKernels::adam(const Tensor& value, const Tensor& m, const Tensor& v, const Tensor& gradient,
                          const UpdateRanges& ranges, const Tensor& /*verdict*/, const AdamStep& /*step*/) {
  report_ranges("adam", ranges, {value, m, v, gradient});
}

void VirtualKernels::lion(const Tensor& value, const Tensor& m, const Tensor& gradient, const UpdateRanges& ranges,
                          const Tensor& /*verdict*/, const LionStep& /*step*/) {
  report_ranges("lion", ranges, {value, m, gradient});
}

void VirtualKernels::nesterov_momentum(const Tensor& update, const Tensor& m, const Tensor& gradient,
                                       const Tensor& /*verdict*/, double /*momentum*/) {
  report_pass("momentum", {update, m, m, gradient, gradient});
}

void VirtualKernels::divide_by_norm(const Tensor& y, const Tensor& x, const Tensor& squares) {
  const Tensor inverse = temporary({1}, DType::f64);
  report({.name = "division by norm", .launches = 2, .bytes = bytes_of({y, x, squares, inverse, inverse})});
}

void VirtualKernels::newton_schulz_polynomial(const Tensor& p, const Tensor& x, const Tensor& y,
                                              const NewtonSchulzCoefficients& /*coefficients*/) {
  report_pass("Newton-Schulz polynomial", {p, x, y});
}

void VirtualKernels::normalize_rows(const Tensor& x, const Tensor& moments, const Tensor& /*verdict*/,
                                    double /*beta2*/) {
  report_pass("row normalization", {x, x, x, moments, moments});
}

void VirtualKernels::decay_and_subtract(const Tensor& value, const Tensor& x, const Tensor& /*verdict*/,
                                        double /*keep*/, double /*rate*/) {
  report_pass("decay and step", {value, value, x});
}

void VirtualKernels::moving_average(const Tensor& average, const Tensor& value, const Tensor& /*verdict*/,
                                    double /*decay*/) {
  report_pass("moving average", {average, average, value});
}

}  // namespace gyre::virtual_gpu
