// Error checks of CUDA library calls: check() throws Error("[cuda] cudaMalloc: out of memory") for a failed call.
#pragma once

#include <cublasLt.h>
#include <cuda_runtime.h>

#include "gyre/core/error.h"

namespace gyre::cuda {

inline void check(cudaError_t status, const char* call) {
  if (status != cudaSuccess) throw Error("[cuda] ", call, ": ", cudaGetErrorString(status));
}

inline void check(cublasStatus_t status, const char* call) {
  require(status == CUBLAS_STATUS_SUCCESS, "[cuda] ", call, ": ", cublasLtGetStatusString(status));
}

}  // namespace gyre::cuda
