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
// Also embeddings and rotary positions: core/cuda/elementary.cu, embedding.cu and rope.cu.

namespace {

// A partial sum for each block of the sum of all elements.
Tensor block_sums(const Tensor& whole) {
  const int64_t pack = pack_size(dtype_bytes(whole.dtype()));
  return temporary({sum_blocks((whole.size() + pack - 1) / pack)}, statistics_dtype(whole.dtype()));
}

}  // namespace

void report_sums(std::string_view name, const Tensor& to, const Tensor& whole, std::initializer_list<Tensor> read) {
  if (!to || whole.size() == 0) return;
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

void VirtualKernels::unary(const Tensor& y, const Tensor& x, const ElementFunction& f) {
  const bool converts = f.kind == UnaryFunction::identity;
  if (converts && x.size() == y.size()) return report_pass("conversion", {y, x});
  if (are_alike(y, x)) return report_pass("function", {y, x});
  report_pass("repetition", {y, x});
  if (!f.is_multiple() && !converts) report_pass("function", {y, y});
}

void VirtualKernels::binary(const Tensor& y, const Tensor& a, const Tensor& b, PairFunction f) {
  const std::string_view name = f == PairFunction::add ? "sum" : "arithmetic";
  report_pass(are_alike(y, a, b) ? name : "arithmetic with repetition", {y, a, b});
}

void VirtualKernels::binary_backward(const Tensor& da, const Tensor& db, const Tensor& dy, const Tensor& a,
                                     const Tensor& b, PairFunction f) {
  const bool linear = f == PairFunction::add || f == PairFunction::subtract;
  for (const Tensor& gradient : {da, db})
    report_sums("arithmetic gradient", gradient, dy, {dy, linear ? Tensor() : a, linear ? Tensor() : b});
}

void VirtualKernels::where_backward(const Tensor& da, const Tensor& db, const Tensor& dy, const Tensor& mask) {
  for (const Tensor& gradient : {da, db}) report_sums("choice gradient", gradient, dy, {dy, mask});
}

void VirtualKernels::matmul(const Tensor& y, const Tensor& a, const Tensor& b, bool transpose_a, bool /*transpose_b*/) {
  const DType dtype = a.dtype() == DType::bf16 ? a.dtype() : b.dtype();
  const Tensor x = in_type(a, dtype), w = in_type(b, dtype);
  report_product(y, y.cols(), a.dim(transpose_a ? 0 : 1), dtype, tf32_, {});
}

void VirtualKernels::copy_columns(const Tensor& y, int64_t /*y_first*/, const Tensor& x, int64_t /*x_first*/,
                                  int64_t count, bool add) {
  if (y.rows() == 0 || count == 0) return;
  const size_t accesses = (add ? 2 : 1) * dtype_bytes(y.dtype()) + dtype_bytes(x.dtype());
  report({.name = "copy of columns", .bytes = double(y.rows()) * double(count) * double(accesses)});
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

}  // namespace

void report_norm_gradient(std::initializer_list<Tensor> tensors, bool parameters, bool bias, const DropoutMask& mask) {
  const Tensor& dy = *tensors.begin();
  if (dy.size() == 0) return;
  const int64_t sums = norm_gradient_sums(parameters, bias);
  const int64_t blocks = norm_gradient_blocks(dy.rows(), teams_of_block(dy));
  const Tensor partial = sums > 0 ? temporary({blocks, sums, dy.cols()}, statistics_dtype(dy.dtype())) : Tensor();
  report({.name = "norm gradient",
          .launches = sums > 0 ? 2 : 1,
          .bytes = bytes_of(tensors) + bytes_of({partial, partial}),
          .random_numbers = mask.rate > 0 ? double(dy.size()) : 0});
}

// ---- Losses and the choice of tokens: core/cuda/loss and topk.cu ---------------------------------------------------

void VirtualKernels::cross_entropy(const Tensor& /*sums*/, const Tensor& lse, const Tensor& logits,
                                   const Tensor& /*targets*/, int64_t /*v*/, const CrossEntropyOptions& /*options*/) {
  if (logits.size() == 0) return;
  const Tensor terms = temporary({logits.rows(), 4}, DType::f64);
  report({.name = "cross-entropy", .launches = 2, .bytes = bytes_of({logits, lse, terms, terms})});
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

void VirtualKernels::topk(const Tensor& values, const Tensor& columns, const Tensor& x, int64_t /*also*/) {
  report_pass("top k", {x});
  values.zero();
  columns.zero();
  for (int copies = 0; copies < 2; ++copies) report({.name = "wait for a copy", .kind = GpuWork::Kind::wait});
}

// ---- Optimizer passes: core/cuda/optimizer.cu and muon.cu ----------------------------------------------------------

void report_ranges(std::string_view name, const UpdateRanges& ranges, std::initializer_list<Tensor> read_and_written) {
  double bytes = 0;
  for (const Tensor& t : read_and_written) bytes += 2.0 * double(dtype_bytes(t.dtype()));
  report({.name = name, .bytes = double(ranges.units) * double(kUpdateUnit) * bytes});
}

void VirtualKernels::divide_by_norm(const Tensor& y, const Tensor& x, const Tensor& squares) {
  const Tensor inverse = temporary({1}, DType::f64);
  report({.name = "division by norm", .launches = 2, .bytes = bytes_of({y, x, squares, inverse, inverse})});
}

}  // namespace gyre::virtual_gpu
