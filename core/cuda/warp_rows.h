// Support for kernels in which a warp processes a row, or the features of one head of a row.
#pragma once

#include "gyre/core/cuda/dispatch.h"
#include "gyre/core/cuda/runtime/context.h"
#include "gyre/core/cuda/runtime/launch.h"

namespace gyre::cuda {

constexpr int kRowWarpsOfBlock = 8;  // warps per block

// The row of the calling warp. A lane processes columns lane, lane + 32, ..
struct WarpRow {
  int64_t row;
  int lane;
  __device__ WarpRow() : row(int64_t(blockIdx.x) * kRowWarpsOfBlock + threadIdx.y), lane(int(threadIdx.x)) {}
};

// Launches kernel(rows, arguments..) with one warp for each row.
template <class... P, class... A>
void launch_rows(const Context& context, void (*kernel)(int64_t, P...), int64_t rows, const A&... arguments) {
  launch(kernel, dim3(unsigned(divide_up(rows, kRowWarpsOfBlock))), dim3(kWarp, kRowWarpsOfBlock), 0, context.stream(),
         rows, P(arguments)...);
}

}  // namespace gyre::cuda
