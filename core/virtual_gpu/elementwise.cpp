// Elementwise operations, embeddings, means of segments and rotary positions: core/cuda/elementwise.cu, activation.cu,
// dropout.cu, embedding.cu, segment_mean.cu and rope.cu.
#include <algorithm>

#include "gyre/core/virtual_gpu/report.h"
#include "gyre/core/virtual_gpu/virtual_kernels.h"

namespace gyre::virtual_gpu {

void VirtualKernels::add(const Tensor& out, const Tensor& a, const Tensor& b) { report_pass("sum", {out, a, b}); }

void VirtualKernels::scale(const Tensor& out, const Tensor& a, double /*factor*/) { report_pass("scale", {out, a}); }

void VirtualKernels::round_to_bf16(const Tensor& out, const Tensor& x) { report_pass("rounding to bf16", {out, x}); }

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

void VirtualKernels::segment_mean(const Tensor& y, const Tensor& x, const Segments& /*segments*/) {
  report_pass("means", {y, x});
}

void VirtualKernels::segment_mean_backward(const Tensor& dx, const Tensor& dy, const Segments& /*segments*/) {
  report_pass("gradient of means", {dx, dy});
}

// The frequencies may be a constant on the CPU.
void VirtualKernels::rotary_angles(const Tensor& angles, const Tensor& frequencies, const Rotary& /*rotary*/) {
  const Tensor here = frequencies.to(angles.device());
  report_pass("rotary angles", {angles});
}

void VirtualKernels::rope(const HeadColumns& y, const HeadColumns& x, const Tensor& positions, const Tensor& /*angles*/,
                          const Rotary& rotary, int64_t width, bool /*inverse*/) {
  const double elements = double(positions.size()) * double(rotary.heads * width);
  if (elements == 0) return;
  report({.name = "rotation", .bytes = elements * double(dtype_bytes(y.rows.dtype()) + dtype_bytes(x.rows.dtype()))});
}

void VirtualKernels::rope_frequencies_backward(const Tensor& /*dfrequencies*/, const Tensor& dy, const Tensor& y,
                                               const Tensor& /*positions*/, const Rotary& /*rotary*/) {
  if (y.size() > 0) report({.name = "frequency gradient", .launches = 2, .bytes = bytes_of({dy, y})});
}

}  // namespace gyre::virtual_gpu
