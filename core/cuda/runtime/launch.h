// Kernel launches: launch(kernel, grid, block, shared bytes, stream, arguments..).
#pragma once

#include "gyre/core/cuda/runtime/check.h"
#include "gyre/core/cuda/runtime/shared_memory.h"

namespace gyre::cuda {

// Allows launches of the kernel with this much dynamic shared memory. A kernel must ask for more than 48 KB, which
// include its static shared memory, of a size unknown here. Calls the driver only if the kernel asks for more than
// before: the process has only one GPU.
void allow_shared_memory(const void* kernel, size_t bytes);

// Launches a kernel, or nothing if the grid is empty. `shared`: bytes of dynamic shared memory, which the kernel
// accesses with shared_memory<T>(). Throws Error if the launch fails.
template <class... P, class... A>
void launch(void (*kernel)(P...), dim3 grid, dim3 block, size_t shared, cudaStream_t stream, const A&... arguments) {
  if (grid.x == 0 || grid.y == 0 || grid.z == 0) return;
  if (shared > 0) allow_shared_memory(reinterpret_cast<const void*>(kernel), shared);
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared;
  config.stream = stream;
  check(cudaLaunchKernelEx(&config, kernel, P(arguments)...), "kernel launch");
}

}  // namespace gyre::cuda
