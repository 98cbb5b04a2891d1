// Backward of layer norm. With xhat = (x - mean) * rstd and g = gamma * dy:
//   dx = rstd * (g - mean(g) - xhat * mean(g * xhat));  dgamma += sum_rows(dy * xhat);  dbeta += sum_rows(dy)
// With a residual connection, the normalized row is sum = residual + keep * x, with keep the dropout factors:
//   dresidual = dsum;  dx = keep * dsum;  dbias += sum_rows(dx)
// A thread processes the same columns in every row of its team, and sums the gradients of the parameters in these
// columns over the rows. The block adds the sums of its teams and stores them. A second kernel adds the sums of the
// blocks. All orders are fixed.
#include "gyre/core/cuda/columns.h"
#include "gyre/core/cuda/cuda_kernels.h"
#include "gyre/core/cuda/row_teams.h"
#include "gyre/core/kernels/norm_teams.h"

namespace gyre::cuda {
namespace {

template <class T, class C = Compute<T>>
struct Backward {
  T *dx, *dresidual;  // null where a gradient is not needed
  const T* before;    // added to dresidual; null if dx is requested
  const T *dy, *sum;
  const C *gamma, *mean, *rstd;  // mean is null for RMS norm, whose terms of the mean are 0
  C* partial;                    // (blocks, 2 or 3, d): partial sums of dgamma, dbeta and dbias; may be null
  Dropout mask;
};

// Stores dsum of one part to dresidual, and keep * dsum to dx; each may be null. The caller never requests both
// `before` and dx. Returns dx, rounded as stored, or zeros if it is null.
template <class T, class C = Compute<T>>
__device__ Pack<T> store_gradients(C (&dsum)[kPackSize<T>], const Backward<T>& a, int64_t element, int count,
                                   bool aligned) {
  constexpr int N = kPackSize<T>;
  if (a.before) {
    const Pack<T> before = load_pack(a.before + element, count, aligned);
#pragma unroll
    for (int i = 0; i < N; ++i) dsum[i] += before[i];
  }
  if (a.dresidual) store_pack(a.dresidual + element, dsum, count, aligned);
  if (!a.dx) return {};
  C keep[N];
  pack_factors(keep, a.mask, uint64_t(element));
#pragma unroll
  for (int i = 0; i < N; ++i) dsum[i] *= keep[i];
  const Pack<T> dx = rounded<T>(dsum);
  store_pack(a.dx + element, dx, count, aligned);
  return dx;
}

// Adds x over the teams of a block, in pairs and in a fixed order. The threads of the first team get the sums.
template <class Team, int count, class C>
__device__ void add_teams(C (&x)[count]) {
  if constexpr (Team::kTeams > 1) {
    __shared__ C given[count][Team::kBlock / 2];
    for (int takers = Team::kBlock / 2; takers >= Team::kThreads; takers /= 2) {
      const int taker = int(threadIdx.x) - takers;  // the thread that adds this thread's x, if in [0, takers)
      __syncthreads();                              // the previous round has been read
      if (taker >= 0 && taker < takers) {
#pragma unroll
        for (int i = 0; i < count; ++i) given[i][taker] = x[i];
      }
      __syncthreads();
      if (int(threadIdx.x) < takers) {
#pragma unroll
        for (int i = 0; i < count; ++i) x[i] += given[i][threadIdx.x];
      }
    }
  }
}

// sums: 2 for dgamma and dbeta, 3 with dbias.
template <class T, class Team, int sums>
__global__ void __launch_bounds__(Team::kBlock, Team::kBlock <= 256 ? 2 : 1)
    backward_kernel(Backward<T> a, RowLayout rows) {
  using C = Compute<T>;
  constexpr int parts = Team::kParts, N = kPackSize<T>;
  __shared__ C scratch[2][kWarp];
  C gamma[parts][N], totals[sums * parts * N] = {};  // totals: gradients of this thread's columns
  const auto load_gamma = [&](int p) {
    const int column = Team::template column<T>(p);
    load_numbers(gamma[p], a.gamma + column, count_in_pack<T>(column, rows.d), rows.aligned);
  };
  // With three sums, there are too few registers to keep gamma, so each use loads it again. Threads with more than two
  // parts spill in any case.
  constexpr bool keep_gamma = sums == 2 || parts > 2;
#pragma unroll
  for (int p = 0; keep_gamma && p < parts; ++p) load_gamma(p);
  int64_t row = int64_t(blockIdx.x) * Team::kTeams + Team::index();
  for (; row - Team::index() < rows.n; row += int64_t(gridDim.x) * Team::kTeams) {
    const int64_t start = row * rows.d;
    const int width = row < rows.n ? rows.d : 0;  // a team without a row takes part with zeros
    const C mean = width && a.mean ? a.mean[row] : C(0), rstd = width ? a.rstd[row] : C(0);
    Pack<T> dy[parts], x[parts];
#pragma unroll
    for (int p = 0; p < parts; ++p) {
      const int column = Team::template column<T>(p), count = count_in_pack<T>(column, width);
      dy[p] = load_pack(a.dy + start + column, count, rows.aligned);
      x[p] = load_pack(a.sum + start + column, count, rows.aligned);
    }
    C dots[2] = {0, 0};  // sums of g and of g * xhat
#pragma unroll
    for (int p = 0; p < parts; ++p) {
      if constexpr (!keep_gamma) load_gamma(p);
#pragma unroll
      for (int i = 0; i < N; ++i) {
        const C slope = dy[p][i], xhat = (x[p][i] - mean) * rstd, g = gamma[p][i] * slope;
        dots[0] += g;
        dots[1] += g * xhat;
        totals[p * N + i] += slope * xhat;
        totals[(parts + p) * N + i] += slope;
      }
    }
    team_sums<Team>(dots, scratch);
    const C mean_g = a.mean ? dots[0] / C(rows.d) : C(0), mean_gx = dots[1] / C(rows.d);
#pragma unroll
    for (int p = 0; p < parts; ++p) {
      const int column = Team::template column<T>(p);
      if constexpr (!keep_gamma) load_gamma(p);
      C dsum[N];
#pragma unroll
      for (int i = 0; i < N; ++i) {
        dsum[i] = rstd * (gamma[p][i] * dy[p][i] - mean_g - (x[p][i] - mean) * rstd * mean_gx);
      }
      const Pack<T> dx = store_gradients(dsum, a, start + column, count_in_pack<T>(column, width), rows.aligned);
      if constexpr (sums == 3) {
#pragma unroll
        for (int i = 0; i < N; ++i) totals[(2 * parts + p) * N + i] += dx[i];
      }
    }
  }
  if (!a.partial) return;
  add_teams<Team>(totals);
  if (Team::index() > 0) return;
#pragma unroll
  for (int p = 0; p < sums * parts; ++p) {
    const int column = Team::template column<T>(p % parts);
    C* to = a.partial + (int64_t(blockIdx.x) * sums + p / parts) * rows.d + column;
    for (int i = 0; i < N; ++i) gamma[0][i] = totals[p * N + i];
    store_numbers(to, gamma[0], count_in_pack<T>(column, rows.d), rows.aligned);
  }
}

// Results of the backward pass; each may be undefined. `before` is added to dresidual. The caller never requests both
// `before` and dx.
struct NormGradients {
  const Tensor &dx, &dresidual, &before, &dgamma, &dbeta, &dbias;

  int sums() const { return norm_gradient_sums(dgamma || dbeta, dbias.defined()); }
};

void norm_backward(Context& context, const NormGradients& to, const Tensor& dy, const Tensor& sum, const Tensor& gamma,
                   const Tensor& mean, const Tensor& rstd, const DropoutMask& mask) {
  if (dy.rows() == 0) return;
  dispatch_data_type(
      dy, [&]<class T, class C = Compute<T>>(T) {
        with_team<T>(dy.cols(), [&]<class Team>(Team) {
          const int64_t d = dy.cols(), blocks = norm_gradient_blocks(dy.rows(), Team::kTeams);
          const Tensor partial = to.sums() > 0 ? context.empty({blocks, to.sums(), d}, dtype_of<C>()) : Tensor();
          const Backward<T> arguments{data_or_null<T>(to.dx),
                                      data_or_null<T>(to.dresidual),
                                      data_or_null<T>(to.before),
                                      dy.data<T>(),
                                      sum.data<T>(),
                                      gamma.data<C>(),
                                      data_or_null<C>(mean),
                                      rstd.data<C>(),
                                      data_or_null<C>(partial),
                                      dropout_of(mask)};
          launch(to.dbias ? backward_kernel<T, Team, 3> : backward_kernel<T, Team, 2>, dim3(unsigned(blocks)),
                 dim3(Team::kBlock), 0, context.stream(), arguments,
                 rows_with<T>(dy, to.dx, to.dresidual, to.before, sum, gamma, partial));
          if (!partial) return;
          const auto sums_to = [](const Tensor& sum) { return data_or_null<C>(sum); };
          add_partials<C>(context, ColumnSums<C>{{sums_to(to.dgamma), sums_to(to.dbeta), sums_to(to.dbias)}, d},
                          partial);
        });
      });
}

}  // namespace

void CudaKernels::layer_norm_backward(const Tensor& dx, const Tensor& dgamma, const Tensor& dbeta, const Tensor& dy,
                                      const Tensor& x, const Tensor& gamma, const Tensor& mean, const Tensor& rstd,
                                      const Tensor& dx_before) {
  norm_backward(context_, {{}, dx, dx_before, dgamma, dbeta, {}}, dy, x, gamma, mean, rstd, {});
}

void CudaKernels::residual_layer_norm_backward(const Tensor& dx, const Tensor& dresidual, const Tensor& dgamma,
                                               const Tensor& dbeta, const Tensor& dbias, const Tensor& dy,
                                               const Tensor& sum, const Tensor& gamma, const Tensor& mean,
                                               const Tensor& rstd, const DropoutMask& mask) {
  require(!dbias || dx, "[residual_layer_norm_backward] dbias is a sum of dx, and requires it");
  norm_backward(context_, {dx, dresidual, {}, dgamma, dbeta, dbias}, dy, sum, gamma, mean, rstd, mask);
}

}  // namespace gyre::cuda
