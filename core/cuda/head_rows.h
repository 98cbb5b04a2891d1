// Kernels in which a warp takes the features of one head of one row.
#pragma once

#include "core/cuda/context.h"
#include "core/cuda/dispatch.h"
#include "core/cuda/launch.h"

namespace gyre::cuda {

constexpr int kHeadWarps = 8;  // of a block

// Head `job` of all rows, and the features of the calling lane: lane, lane + 32, ..
struct WarpHead {
  int64_t job;
  int lane;
  __device__ WarpHead() : job(int64_t(blockIdx.x) * kHeadWarps + threadIdx.y), lane(int(threadIdx.x)) {}
};

// kernel(jobs, arguments..), in which each warp has one of `jobs` heads of rows.
template <class... P, class... A>
void launch_heads(const Context& context, void (*kernel)(int64_t, P...), int64_t jobs, const A&... arguments) {
  launch(kernel, dim3(unsigned(divide_up(jobs, kHeadWarps))), dim3(kWarp, kHeadWarps), 0, context.stream(), jobs,
         P(arguments)...);
}

}  // namespace gyre::cuda
