#include <new>

#include "core/cuda/context.h"
#include "core/cuda/gpus.h"

namespace gyre::cuda {
namespace {

constexpr size_t kRegion = size_t{512} << 20;
constexpr size_t kAlignment = 256;  // what cudaMalloc gives, and the library's products like best

std::byte* fetch_region(size_t bytes) {
  void* data = nullptr;
  const cudaError_t status = cudaMalloc(&data, bytes);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();  // it is dealt with here
    throw std::bad_alloc();
  }
  check(status, "cudaMalloc");
  return static_cast<std::byte*>(data);
}

void release_region(std::byte* region, size_t) { check(cudaFree(region), "cudaFree"); }

std::string mebibytes(size_t bytes) { return concat((bytes + (size_t{1} << 20) - 1) >> 20, " MiB"); }

}  // namespace

Context& Context::of(int index) {
  static std::mutex mutex;
  static Context* made = nullptr;
  {
    const std::lock_guard lock(mutex);
    if (!made) {
      if (const std::string missing = what_is_missing(index); !missing.empty()) throw UsageError("[cuda] ", missing);
      made = new Context(index);
    }
  }
  if (made->index_ != index) {
    throw UsageError("[cuda] a process works on one GPU: expected cuda:", made->index_, ", got cuda:", index);
  }
  thread_local bool current = false;
  if (!current) check(cudaSetDevice(index), "cudaSetDevice");
  current = true;
  return *made;
}

Context::Context(int index) : index_(index), pool_({fetch_region, release_region}, kRegion, kAlignment) {
  check(cudaSetDevice(index), "cudaSetDevice");
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, index), "cudaGetDeviceProperties");
  name_ = properties.name;
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
  check(cublasLtCreate(&cublas_), "cublasLtCreate");
  workspace_ = allocate(kWorkspace);
  uploads_ = std::make_unique<Uploads>(stream_, BlockPool::Source{fetch_region, release_region});
}

std::shared_ptr<void> Context::allocate(size_t bytes) {
  const std::lock_guard lock(mutex_);
  try {
    return {pool_.take(bytes), [this](void* block) { give_back(block); }};
  } catch (const std::bad_alloc&) {
    size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    const MemoryStats& stats = pool_.stats();
    throw Error("[cuda] out of memory on cuda:", index_, " (", name_, ", ", mebibytes(total), "): wanted ",
                mebibytes(bytes), "; ", mebibytes(stats.active_bytes), " in use, ", mebibytes(stats.cached_bytes),
                " cached in pieces, ", mebibytes(free), " free");
  }
}

void Context::give_back(void* block) {
  const std::lock_guard lock(mutex_);
  pool_.give_back(static_cast<std::byte*>(block));
}

MemoryStats Context::memory_stats() {
  const std::lock_guard lock(mutex_);
  return pool_.stats();
}

Tensor Context::empty(const Shape& shape, DType dtype) {
  return Tensor::empty(shape, dtype, {Device::Kind::cuda, index_});
}

void Context::synchronize() { check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }

}  // namespace gyre::cuda
