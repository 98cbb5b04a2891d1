#include <new>

#include "gyre/core/cuda/runtime/check.h"
#include "gyre/core/cuda/runtime/device_pool.h"
#include "gyre/core/cuda/runtime/environment.h"

namespace gyre::cuda {
namespace {

constexpr size_t kAlignment = 256;  // alignment of cudaMalloc, and the best one for cublasLt

std::byte* fetch_region(size_t bytes) {
  void* data = nullptr;
  const cudaError_t status = cudaMalloc(&data, bytes);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();  // clears the error, which is handled here
    throw std::bad_alloc();
  }
  check(status, "cudaMalloc");
  return static_cast<std::byte*>(data);
}

// Without a check, because destructors of tensors free memory and cannot throw. The usual error of cudaFree() is that
// of an earlier kernel, which the next call that waits for the GPU reports.
void release_region(std::byte* region, size_t) { cudaFree(region); }

}  // namespace

// Without the pool, each region is as large as the one block that it is fetched for.
DevicePool::DevicePool(size_t region_bytes)
    : pooled_(is_on("GYRE_CUDA_POOL", true)),
      blocks_({fetch_region, release_region}, pooled_ ? region_bytes : 1, pooled_ ? kAlignment : 1) {}

std::byte* DevicePool::take(size_t bytes) { return blocks_.take(bytes); }

void DevicePool::give_back(std::byte* block) {
  blocks_.give_back(block);
  if (!pooled_) blocks_.release();
}

}  // namespace gyre::cuda
