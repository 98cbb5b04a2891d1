// Optimizer passes: core/cuda/optimizer.cu.
#include "gyre/core/virtual_gpu/report.h"
#include "gyre/core/virtual_gpu/virtual_kernels.h"

namespace gyre::virtual_gpu {

// All sums are 0, which the optimizer takes for a small gradient.
std::vector<double> VirtualKernels::block_square_sums(const Tensor& x) {
  if (x.size() > 0) {
    report_pass("gradient norm", {x});
    report({.name = "wait for the norm", .kind = GpuWork::Kind::wait});
  }
  return std::vector<double>(size_t(squares_blocks(x.size())));
}

void VirtualKernels::adam(const Tensor& value, const Tensor& m, const Tensor& v, const Tensor& gradient,
                          const AdamStep& /*step*/) {
  report_pass("adam", {value, value, m, m, v, v, gradient, gradient});
}

void VirtualKernels::moving_average(const Tensor& average, const Tensor& value, double /*decay*/) {
  report_pass("moving average", {average, average, value});
}

}  // namespace gyre::virtual_gpu
