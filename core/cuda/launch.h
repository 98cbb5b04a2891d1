// Launching kernels: launch(kernel, grid, block, shared bytes, stream, arguments..).
#pragma once

#include "core/cuda/check.h"

namespace gyre::cuda {

// `shared`: bytes of dynamic shared memory, which the kernel takes with shared_memory<T>(). An empty grid launches
// nothing.
template <class... P, class... A>
void launch(void (*kernel)(P...), dim3 grid, dim3 block, size_t shared, cudaStream_t stream, const A&... arguments) {
  if (grid.x == 0 || grid.y == 0 || grid.z == 0) return;
  constexpr size_t kWithoutAsking = 48 << 10;
  if (shared > kWithoutAsking) {
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

#ifdef __CUDACC__
template <class T>
__device__ T* shared_memory() {
  extern __shared__ __align__(128) unsigned char dynamic_shared_memory[];
  return reinterpret_cast<T*>(dynamic_shared_memory);
}
#endif

}  // namespace gyre::cuda
