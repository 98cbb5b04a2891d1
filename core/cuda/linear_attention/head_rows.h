// Support for kernels in which a warp processes the features of one head of one row.
#pragma once

#include "gyre/core/cuda/dispatch.h"
#include "gyre/core/cuda/runtime/context.h"
#include "gyre/core/cuda/runtime/launch.h"

namespace gyre::cuda {

constexpr int kHeadWarps = 8;  // warps per block

// The head of the calling warp, counted over the heads of all rows. A lane processes features lane, lane + 32, ..
struct WarpHead {
  int64_t job;
  int lane;
  __device__ WarpHead() : job(int64_t(blockIdx.x) * kHeadWarps + threadIdx.y), lane(int(threadIdx.x)) {}
};

// Launches kernel(jobs, arguments..) with one warp for each of the `jobs` heads of all rows.
template <class... P, class... A>
void launch_heads(const Context& context, void (*kernel)(int64_t, P...), int64_t jobs, const A&... arguments) {
  launch(kernel, dim3(unsigned(divide_up(jobs, kHeadWarps))), dim3(kWarp, kHeadWarps), 0, context.stream(), jobs,
         P(arguments)...);
}

}  // namespace gyre::cuda
