// Layer norm: core/cuda/layer_norm.cu and layer_norm_backward.cu.
#include <algorithm>

#include "gyre/core/kernels/norm_teams.h"
#include "gyre/core/virtual_gpu/report.h"
#include "gyre/core/virtual_gpu/virtual_kernels.h"

namespace gyre::virtual_gpu {

namespace {

// Rows that a block processes at the same time. Rows that are too wide for a GPU count as the widest.
int64_t teams_of_block(const Tensor& rows) {
  return kNormTeams[std::min(norm_team(rows.cols(), pack_size(rows.dtype())), kNormTeams.size() - 1)].teams();
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

}  // namespace gyre::virtual_gpu
