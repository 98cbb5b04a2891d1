// Layer norm: core/cuda/layer_norm.cu and layer_norm_backward.cu.
#include <algorithm>

#include "gyre/core/virtual_gpu/report.h"
#include "gyre/core/virtual_gpu/virtual_kernels.h"

namespace gyre::virtual_gpu {

namespace {

constexpr int64_t kMaxBlocks = 528;  // as in layer_norm_backward.cu

// Rows that a block processes at the same time: the teams of row_teams.h.
int64_t teams_of_block(const Tensor& rows) {
  constexpr int64_t kWarp = 32, kTeamsOfOneWarp = 8;
  const int64_t pack = std::max<int64_t>(4, 16 / int64_t(dtype_bytes(rows.dtype())));
  const int64_t parts = (rows.cols() + kWarp * pack - 1) / (kWarp * pack);
  int64_t teams = kTeamsOfOneWarp;
  for (int64_t most = 2; most < parts && teams > 1; most *= 2) teams /= 2;
  return teams;
}

// The first of the tensors is dy. `sums`: of how many vectors each block stores partial sums.
void report_backward(std::initializer_list<Tensor> tensors, int64_t sums, double random_numbers) {
  const Tensor& dy = *tensors.begin();
  if (dy.size() == 0) return;
  const int64_t teams = teams_of_block(dy), blocks = std::min(kMaxBlocks, (dy.rows() + teams - 1) / teams);
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
  report_backward({dy, x, dx, dx_before, mean, rstd}, dgamma || dbeta ? 2 : 0, 0);
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
  report_backward({dy, sum, dx, dresidual, mean, rstd},
                  dbias             ? 3
                  : dgamma || dbeta ? 2
                                    : 0,
                  dx && mask.rate > 0 ? double(dy.size()) : 0);
}

}  // namespace gyre::virtual_gpu
