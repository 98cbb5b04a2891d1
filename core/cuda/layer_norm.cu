// y = gamma * xhat + beta, xhat = (x - mean) * rstd, over the last axis. In RMS norm, the mean counts as 0. With a
// residual connection, the normalized row is sum = residual + keep * x, with keep the dropout factors.
#include "gyre/core/cuda/columns.h"
#include "gyre/core/cuda/cuda_kernels.h"
#include "gyre/core/cuda/dispatch.h"
#include "gyre/core/cuda/tensor_core.h"
#include "gyre/core/cuda/vectors.h"
#include "gyre/core/kernels/gpu_blocks.h"

namespace gyre::cuda {

// ---- Teams of warps ------------------------------------------------------------------------------------------------
// Support for layer norm kernels. A team of warps processes a row and keeps it in registers, so that it is read from
// memory only once.

// A team of `warps` warps. Each thread holds `parts` parts of the row, of kPackSize elements each.
template <int warps, int parts>
struct Team {
  static constexpr int kWarps = warps, kParts = parts, kThreads = warps * kWarp;
  static constexpr int kBlock = kThreads < 256 ? 256 : kThreads, kTeams = kBlock / kThreads;
  static_assert(kTeams == NormTeam{warps, parts}.teams());

  __device__ static int index() { return int(threadIdx.x) / kThreads; }
  __device__ static int thread() { return int(threadIdx.x) % kThreads; }
  template <class T>
  __device__ static int column(int part) {
    return (part * kThreads + thread()) * kPackSize<T>;
  }
  __device__ static void barrier() {
    if constexpr (kTeams > 1) {
      named_barrier(1 + index(), kThreads);
    } else {
      __syncthreads();
    }
  }
};

// Sums of several numbers over the threads of a team. All threads of the team get the result and must call it.
template <class Team, int count, class C>
__device__ void team_sums(C (&x)[count], C (*scratch)[kWarp]) {
#pragma unroll
  for (int i = 0; i < count; ++i) x[i] = warp_sum(x[i]);
  if constexpr (Team::kWarps > 1) {
    const int warp = int(threadIdx.x) / kWarp;
    Team::barrier();  // all threads have read the scratch of an earlier call
    if (threadIdx.x % kWarp == 0) {
      for (int i = 0; i < count; ++i) scratch[i][warp] = x[i];
    }
    Team::barrier();
    for (int i = 0; i < count; ++i) {
      x[i] = 0;
      for (int w = 0; w < Team::kWarps; ++w) x[i] += scratch[i][Team::index() * Team::kWarps + w];
    }
  }
}

// Calls f(Team{}) with the type of the team in the table for rows of d elements. Throws Error if they are too wide.
template <const auto& teams, class T, size_t index = 0, class F>
void with_team(int64_t d, F&& f) {
  constexpr NormTeam team = teams[index];
  if constexpr (index + 1 < teams.size()) {
    if (index < norm_team(teams, d, kPackSize<T>)) return with_team<teams, T, index + 1>(d, f);
  } else {
    constexpr int64_t widest = team.capacity() * kWarp * kPackSize<T>;
    require(d <= widest, "[layer_norm] expected rows of at most ", widest, " elements on a GPU, got ", d);
  }
  f(Team<team.warps, team.parts>{});
}

// n rows of d elements. `aligned`: all packs start at multiples of 16 bytes.
struct RowLayout {
  int64_t n;
  int d;
  bool aligned;
};

template <class T, class... Tensors>
RowLayout rows_with(const Tensor& x, const Tensors&... others) {
  return {x.rows(), int(x.cols()), x.cols() % kPackSize<T> == 0 && all_aligned(x, others...)};
}

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
  if (row >= rows.n) return;
  Pack<T> x[parts], other[parts];
  int counts[parts];
#pragma unroll
  for (int p = 0; p < parts; ++p) {
    const int column = Team::template column<T>(p);
    counts[p] = count_in_pack<T>(column, rows.d);
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
  if (Team::thread() == 0) {
    if (a.mean) a.mean[row] = mean;
    a.rstd[row] = rstd;
  }
}

template <class T>
void forward(const Context& context, const Forward<T>& arguments, const RowLayout& rows) {
  with_team<kNormTeams, T>(rows.d, [&]<class Team>(Team) {
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

// ---- Backward ------------------------------------------------------------------------------------------------------
// Backward of layer norm. With xhat = (x - mean) * rstd and g = gamma * dy:
//   dx = rstd * (g - mean(g) - xhat * mean(g * xhat));  dgamma += sum_rows(dy * xhat);  dbeta += sum_rows(dy)
// With a residual connection, the normalized row is sum = residual + keep * x, with keep the dropout factors:
//   dresidual = dsum;  dx = keep * dsum;  dbias += sum_rows(dx)
// A thread processes the same columns in every row of its team, and sums the gradients of the parameters in these
// columns over the rows. The block adds the sums of its teams and stores them. A second kernel adds the sums of the
// blocks. All orders are fixed.

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
  for (; row < rows.n; row += int64_t(gridDim.x) * Team::kTeams) {
    const int64_t start = row * rows.d;
    const C mean = a.mean ? a.mean[row] : C(0), rstd = a.rstd[row];
    Pack<T> dy[parts], x[parts];
#pragma unroll
    for (int p = 0; p < parts; ++p) {
      const int column = Team::template column<T>(p), count = count_in_pack<T>(column, rows.d);
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
      const Pack<T> dx = store_gradients(dsum, a, start + column, count_in_pack<T>(column, rows.d), rows.aligned);
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
        with_team<kNormBackwardTeams, T>(dy.cols(), [&]<class Team>(Team) {
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
