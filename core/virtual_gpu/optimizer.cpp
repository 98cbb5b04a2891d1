// Optimizer passes: core/cuda/optimizer.cu and muon.cu.
#include "gyre/core/virtual_gpu/report.h"
#include "gyre/core/virtual_gpu/virtual_kernels.h"

namespace gyre::virtual_gpu {
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
