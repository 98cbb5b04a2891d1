// Kernels over rows of layer normalisation: a row is taken by a team of warps and stays in its registers, so that it is
// read once.
#pragma once

#include "core/cuda/dispatch.h"
#include "core/cuda/vectors.h"

namespace gyre::cuda {

// `warps` of a team; `parts` of a row, each of some neighbours, for each thread.
template <int warps, int parts>
struct Team {
  static constexpr int kWarps = warps, kParts = parts, kThreads = warps * kWarp;
  static constexpr int kBlock = kThreads < 256 ? 256 : kThreads, kTeams = kBlock / kThreads;

  __device__ static int index() { return int(threadIdx.x) / kThreads; }
  __device__ static int thread() { return int(threadIdx.x) % kThreads; }
  template <class T>
  __device__ static int column(int part) {
    return (part * kThreads + thread()) * kNeighbours<T>;
  }
};

// The team's sums of several numbers, the same on each of its threads. All threads of the block call it.
template <class Team, int count, class C>
__device__ void team_sums(C (&x)[count], C (*scratch)[kWarp]) {
#pragma unroll
  for (int i = 0; i < count; ++i) x[i] = warp_sum(x[i]);
  if constexpr (Team::kWarps > 1) {
    const int warp = int(threadIdx.x) / kWarp;
    __syncthreads();  // what an earlier call left has been read
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

// Calls f(Team{}) with one for rows of d elements.
template <class T, class F>
void with_team(int64_t d, F&& f) {
  constexpr int64_t kWarpRow = kWarp * kNeighbours<T>, kWidest = 128 * kWarpRow;
  require(d <= kWidest, "[layer_norm] expected rows of at most ", kWidest, " elements on a GPU, got ", d);
  const int64_t parts = divide_up(d, kWarpRow);
  if (parts <= 1) return f(Team<1, 1>{});
  if (parts <= 2) return f(Team<1, 2>{});
  if (parts <= 4) return f(Team<2, 2>{});
  if (parts <= 8) return f(Team<4, 2>{});
  if (parts <= 16) return f(Team<8, 2>{});
  if (parts <= 32) return f(Team<16, 2>{});
  f(Team<32, 4>{});
}

// The rows of a tensor; aligned: their neighbours start at multiples of 16 bytes.
struct RowLayout {
  int64_t n;
  int d;
  bool aligned;
};

template <class T, class... Tensors>
RowLayout rows_with(const Tensor& x, const Tensors&... others) {
  return {x.rows(), int(x.cols()), x.cols() % kNeighbours<T> == 0 && all_aligned(x, others...)};
}
}  // namespace gyre::cuda
