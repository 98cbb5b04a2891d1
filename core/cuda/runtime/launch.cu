#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "gyre/core/cuda/runtime/launch.h"

namespace gyre::cuda {

namespace {

std::string name_of(const void* kernel) {
  const char* mangled = nullptr;
  if (cudaFuncGetName(&mangled, kernel) != cudaSuccess || mangled == nullptr) return "a kernel";
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name(abi::__cxa_demangle(mangled, nullptr, nullptr, &status), std::free);
  return status == 0 ? name.get() : mangled;
}

}  // namespace

size_t most_shared_memory() {
  static const size_t bytes = [] {
    int device = 0, most = 0;
    check(cudaGetDevice(&device), "cudaGetDevice");
    check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device), "cudaDeviceGetAttribute");
    return size_t(most);
  }();
  return bytes;
}

void check_launch(cudaError_t status, const void* kernel) {
  if (status != cudaSuccess) check(status, concat("launch of ", name_of(kernel)).c_str());
}

void allow_shared_memory(const void* kernel, size_t bytes) {
  static std::mutex mutex;
  static std::unordered_map<const void*, size_t> allowed;
  const std::lock_guard lock(mutex);
  size_t& most = allowed[kernel];
  if (bytes <= most) return;
  cudaFuncAttributes attributes{};
  check(cudaFuncGetAttributes(&attributes, kernel), "cudaFuncGetAttributes");
  if (const size_t needed = bytes + attributes.sharedSizeBytes; needed > most_shared_memory())
    throw UsageError("[cuda] a block of this GPU has at most ", most_shared_memory() >> 10,
                     " KiB of shared memory, and ", name_of(kernel), " needs ", (needed + 1023) >> 10,
                     ": use narrower heads (a new model with more --transformer-heads), or another GPU");
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(bytes)),
        "cudaFuncSetAttribute(shared memory)");
  most = bytes;
}

}  // namespace gyre::cuda
