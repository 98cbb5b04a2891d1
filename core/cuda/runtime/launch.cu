#include <mutex>
#include <unordered_map>

#include "gyre/core/cuda/runtime/launch.h"

namespace gyre::cuda {

void allow_shared_memory(const void* kernel, size_t bytes) {
  static std::mutex mutex;
  static std::unordered_map<const void*, size_t> allowed;
  const std::lock_guard lock(mutex);
  size_t& most = allowed[kernel];
  if (bytes <= most) return;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(bytes)),
        "cudaFuncSetAttribute(shared memory)");
  most = bytes;
}

}  // namespace gyre::cuda
