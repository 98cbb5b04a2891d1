// Kernel launches: launch(kernel, grid, block, shared bytes, stream, arguments..).
#pragma once

#include "gyre/core/cuda/runtime/check.h"
#include "gyre/core/cuda/runtime/shared_memory.h"

namespace gyre::cuda {

// Launches a kernel, or nothing if the grid is empty. `shared`: bytes of dynamic shared memory, which the kernel
// accesses with shared_memory<T>(). Throws Error if the launch fails.
template <class... P, class... A>
void launch(void (*kernel)(P...), dim3 grid, dim3 block, size_t shared, cudaStream_t stream, const A&... arguments) {
  if (grid.x == 0 || grid.y == 0 || grid.z == 0) return;
  // A kernel must ask for more than 48 KB, which include its static shared memory, of a size unknown here.
  if (shared > 0) {
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(shared)),
          "cudaFuncSetAttribute(shared memory)");
  }
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared;
  config.stream = stream;
  check(cudaLaunchKernelEx(&config, kernel, P(arguments)...), "kernel launch");
}

}  // namespace gyre::cuda
