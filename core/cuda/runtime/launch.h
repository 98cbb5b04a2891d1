// Kernel launches: launch(kernel, grid, block, shared bytes, stream, arguments..).
#pragma once

#include "gyre/core/cuda/runtime/check.h"
#include "gyre/core/cuda/runtime/shared_memory.h"

namespace gyre::cuda {

// The most shared memory, in bytes, that this GPU gives a block: 99 to 227 KiB.
size_t most_shared_memory();

// Allows launches of the kernel with this much dynamic shared memory. A kernel must ask for more than 48 KB, which
// include its static shared memory. Calls the driver only if the kernel asks for more than before: the process has only
// one GPU. Throws UsageError if the GPU has less.
void allow_shared_memory(const void* kernel, size_t bytes);

// Throws Error with the name of the kernel if its launch failed.
void check_launch(cudaError_t status, const void* kernel);

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
  check_launch(cudaLaunchKernelEx(&config, kernel, P(arguments)...), reinterpret_cast<const void*>(kernel));
}

}  // namespace gyre::cuda
