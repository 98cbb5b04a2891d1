// Calls of the CUDA libraries report themselves: "[cuda] cudaMalloc: out of memory".
#pragma once

#include <cuda_runtime.h>

#include "core/error.h"

namespace gyre::cuda {

inline void check(cudaError_t status, const char* call) {
  if (status != cudaSuccess) throw Error("[cuda] ", call, ": ", cudaGetErrorString(status));
}

}  // namespace gyre::cuda
