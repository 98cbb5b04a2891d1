// Optimizer passes: core/cuda/optimizer.cu.
#include "gyre/core/virtual_gpu/report.h"
#include "gyre/core/virtual_gpu/virtual_kernels.h"

namespace gyre::virtual_gpu {

void VirtualKernels::block_square_sums(const Tensor& sums, const Tensor& x) { report_pass("gradient norm", {x, sums}); }

void VirtualKernels::judge_gradient(const Tensor& verdict, const Tensor& squares, const GradientLimits& /*limits*/) {
  report_pass("verdict", {verdict, squares});
}

// The pass covers the ranges, whose values, moments and gradients are read and written.
void VirtualKernels::adam(const Tensor& value, const Tensor& m, const Tensor& v, const Tensor& gradient,
                          const UpdateRanges& ranges, const Tensor& /*verdict*/, const AdamStep& /*step*/) {
  const double elements = double(ranges.units) * double(kUpdateUnit);
  const double read_and_written = 2.0 * double(dtype_bytes(value.dtype()) + dtype_bytes(m.dtype()) +
                                               dtype_bytes(v.dtype()) + dtype_bytes(gradient.dtype()));
  report({.name = "adam", .bytes = elements * read_and_written});
}

void VirtualKernels::moving_average(const Tensor& average, const Tensor& value, const Tensor& /*verdict*/,
                                    double /*decay*/) {
  report_pass("moving average", {average, average, value});
}

}  // namespace gyre::virtual_gpu
