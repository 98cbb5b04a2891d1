// y = gamma * xhat + beta, xhat = (x - mean) * rstd, over the last axis. In RMS norm, the mean counts as 0. With a
// residual connection, the normalized row is sum = residual + keep * x, with keep the dropout factors.
#include "gyre/core/cuda/cuda_kernels.h"
#include "gyre/core/cuda/row_teams.h"

namespace gyre::cuda {
namespace {

template <class T, class C = Compute<T>>
struct Forward {
  T *y, *sum;               // sum may be null
  const T *x, *residual;    // residual may be null
  const C *gamma, *beta;    // beta may be null
  C *mean, *rstd, epsilon;  // mean is null for RMS norm
  Dropout mask;
};

// residual + keep * x, rounded as it is stored. `element`: index of the first element in the dropout mask.
template <class T>
__device__ Pack<T> add_branch(const Pack<T>& residual, const Pack<T>& x, const Dropout& mask, int64_t element) {
  Compute<T> numbers[kPackSize<T>];
  pack_factors(numbers, mask, uint64_t(element));
#pragma unroll
  for (int i = 0; i < kPackSize<T>; ++i) numbers[i] = residual[i] + x[i] * numbers[i];
  return rounded<T>(numbers);
}

// Computes mean and rstd of the team's row; the mean is 0 unless `centered`. x: the parts of the row that this thread
// holds.
template <class Team, class T, int parts, class C = Compute<T>>
__device__ void row_statistics(C& mean, C& rstd, const Pack<T> (&x)[parts], const int (&counts)[parts], int d,
                               C epsilon, bool centered) {
  __shared__ C scratch[1][kWarp];
  C sum[1] = {0}, squares[1] = {0};
  if (centered) {
#pragma unroll
    for (int p = 0; p < parts; ++p) {
#pragma unroll
      for (int i = 0; i < kPackSize<T>; ++i) sum[0] += x[p][i];
    }
    team_sums<Team>(sum, scratch);
  }
  mean = sum[0] / C(d);
#pragma unroll
  for (int p = 0; p < parts; ++p) {
#pragma unroll
    for (int i = 0; i < kPackSize<T>; ++i) {
      const C centered = i < counts[p] ? x[p][i] - mean : C(0);
      squares[0] += centered * centered;
    }
  }
  team_sums<Team>(squares, scratch);
  rstd = C(1) / sqrt(squares[0] / C(d) + epsilon);
}

// y of one part.
template <class T, class C = Compute<T>>
__device__ Pack<T> normalized(const Pack<T>& x, C mean, C rstd, const Forward<T>& a, int column, int count,
                              bool aligned) {
  constexpr int N = kPackSize<T>;
  C gamma[N], beta[N] = {};
  load_numbers(gamma, a.gamma + column, count, aligned);
  if (a.beta) load_numbers(beta, a.beta + column, count, aligned);
#pragma unroll
  for (int i = 0; i < N; ++i) gamma[i] = gamma[i] * (x[i] - mean) * rstd + beta[i];
  return rounded<T>(gamma);
}

// All loads come before the stores, because the compiler must assume that stores may change the loaded memory.
template <class T, class Team>
__global__ void __launch_bounds__(Team::kBlock) forward_kernel(Forward<T> a, RowLayout rows) {
  constexpr int parts = Team::kParts;
  const int64_t row = int64_t(blockIdx.x) * Team::kTeams + Team::index(), start = row * rows.d;
  const int width = row < rows.n ? rows.d : 0;  // a team without a row takes part with an empty row
  Pack<T> x[parts], other[parts];
  int counts[parts];
#pragma unroll
  for (int p = 0; p < parts; ++p) {
    const int column = Team::template column<T>(p);
    counts[p] = count_in_pack<T>(column, width);
    x[p] = load_pack(a.x + start + column, counts[p], rows.aligned);
    if (a.residual) other[p] = load_pack(a.residual + start + column, counts[p], rows.aligned);
  }
  if (a.residual) {
#pragma unroll
    for (int p = 0; p < parts; ++p) {
      const int column = Team::template column<T>(p);
      x[p] = add_branch(other[p], x[p], a.mask, start + column);
      if (a.sum) store_pack(a.sum + start + column, x[p], counts[p], rows.aligned);
    }
  }
  Compute<T> mean, rstd;
  row_statistics<Team>(mean, rstd, x, counts, rows.d, a.epsilon, a.mean != nullptr);
#pragma unroll
  for (int p = 0; p < parts; ++p) {
    other[p] = normalized(x[p], mean, rstd, a, Team::template column<T>(p), counts[p], rows.aligned);
  }
#pragma unroll
  for (int p = 0; p < parts; ++p) {
    store_pack(a.y + start + Team::template column<T>(p), other[p], counts[p], rows.aligned);
  }
  if (row < rows.n && Team::thread() == 0) {
    if (a.mean) a.mean[row] = mean;
    a.rstd[row] = rstd;
  }
}

template <class T>
void forward(const Context& context, const Forward<T>& arguments, const RowLayout& rows) {
  with_team<T>(rows.d, [&]<class Team>(Team) {
    launch(forward_kernel<T, Team>, dim3(unsigned(divide_up(rows.n, Team::kTeams))), dim3(Team::kBlock), 0,
           context.stream(), arguments, rows);
  });
}

}  // namespace

void CudaKernels::layer_norm(const Tensor& y, const Tensor& mean, const Tensor& rstd, const Tensor& x,
                             const Tensor& gamma, const Tensor& beta, double epsilon) {
  dispatch_data_type(
      x, [&]<class T, class C = Compute<T>>(T) {
        const Forward<T> arguments{
            y.data<T>(),           nullptr,        x.data<T>(), nullptr, gamma.data<C>(), data_or_null<C>(beta),
            data_or_null<C>(mean), rstd.data<C>(), C(epsilon),  {}};
        forward(context_, arguments, rows_with<T>(x, y, gamma, beta));
      });
}

void CudaKernels::residual_layer_norm(const Tensor& y, const Tensor& sum, const Tensor& mean, const Tensor& rstd,
                                      const Tensor& x, const Tensor& residual, const Tensor& gamma, const Tensor& beta,
                                      double epsilon, const DropoutMask& mask) {
  dispatch_data_type(
      x, [&]<class T, class C = Compute<T>>(T) {
        const Forward<T> arguments{y.data<T>(),     data_or_null<T>(sum), x.data<T>(),    residual.data<T>(),
                                   gamma.data<C>(), beta.data<C>(),       mean.data<C>(), rstd.data<C>(),
                                   C(epsilon),      dropout_of(mask)};
        forward(context_, arguments, rows_with<T>(x, y, sum, residual, gamma, beta));
      });
}

}  // namespace gyre::cuda
