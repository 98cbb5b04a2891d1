// Support for layer norm kernels. A team of warps processes a row and keeps it in registers, so that it is read from
// memory only once.
#pragma once

#include "gyre/core/cuda/dispatch.h"
#include "gyre/core/cuda/vectors.h"
#include "gyre/core/kernels/norm_teams.h"

namespace gyre::cuda {

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
};

// Sums of several numbers over the threads of a team. All threads of the team get the result. All threads of the block
// must call it.
template <class Team, int count, class C>
__device__ void team_sums(C (&x)[count], C (*scratch)[kWarp]) {
#pragma unroll
  for (int i = 0; i < count; ++i) x[i] = warp_sum(x[i]);
  if constexpr (Team::kWarps > 1) {
    const int warp = int(threadIdx.x) / kWarp;
    __syncthreads();  // all threads have read the scratch of an earlier call
    if (threadIdx.x % kWarp == 0) {
      for (int i = 0; i < count; ++i) scratch[i][warp] = x[i];
    }
    __syncthreads();
    for (int i = 0; i < count; ++i) {
      x[i] = 0;
      for (int w = 0; w < Team::kWarps; ++w) x[i] += scratch[i][Team::index() * Team::kWarps + w];
    }
  }
}

// Calls f(Team{}) with the team type for rows of d elements. Throws Error if the rows are too wide.
template <class T, size_t index = 0, class F>
void with_team(int64_t d, F&& f) {
  constexpr NormTeam team = kNormTeams[index];
  if constexpr (index + 1 < kNormTeams.size()) {
    if (index < norm_team(d, kPackSize<T>)) return with_team<T, index + 1>(d, f);
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
}  // namespace gyre::cuda
