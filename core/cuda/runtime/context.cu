#include <new>

#include "gyre/core/cuda/runtime/context.h"
#include "gyre/core/cuda/runtime/environment.h"
#include "gyre/core/cuda/runtime/gpus.h"

namespace gyre::cuda {
namespace {

constexpr size_t kRegion = size_t{512} << 20;
constexpr int kPoison = 0xFF;  // makes NaN in f64, f32 and bf16

std::string mebibytes(size_t bytes) { return concat((bytes + (size_t{1} << 20) - 1) >> 20, " MiB"); }

}  // namespace

Context& Context::of(int index) {
  static std::mutex mutex;
  static Context* instance = nullptr;
  {
    const std::lock_guard lock(mutex);
    if (!instance) {
      if (const std::string missing = missing_requirement(index); !missing.empty())
        throw UsageError("[cuda] ", missing);
      instance = new Context(index);
    }
  }
  if (instance->index_ != index) {
    throw UsageError("[cuda] a process uses one GPU: expected cuda:", instance->index_, ", got cuda:", index);
  }
  thread_local bool current = false;
  if (!current) check(cudaSetDevice(index), "cudaSetDevice");
  current = true;
  return *instance;
}

Context::Context(int index) : index_(index), poisons_(is_on("GYRE_CUDA_POISON", false)), pool_(kRegion) {
  check(cudaSetDevice(index), "cudaSetDevice");
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, index), "cudaGetDeviceProperties");
  name_ = properties.name;
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
  check(cublasLtCreate(&cublas_), "cublasLtCreate");
  workspace_ = allocate(kWorkspace);
  uploads_ = std::make_unique<Uploads>(stream_);
}

std::shared_ptr<void> Context::allocate(size_t bytes) {
  std::shared_ptr<void> block(take(bytes), [this](void* data) { give_back(data); });
  if (poisons_)
    check(cudaMemsetAsync(block.get(), kPoison, pool_.block_bytes(bytes), stream_), "cudaMemsetAsync(poison)");
  return block;
}

std::byte* Context::take(size_t bytes) {
  const std::lock_guard lock(mutex_);
  try {
    return pool_.take(bytes);
  } catch (const std::bad_alloc&) {
    size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    const MemoryStats& stats = pool_.stats();
    throw Error("[cuda] out of memory on cuda:", index_, " (", name_, ", ", mebibytes(total), "): requested ",
                mebibytes(bytes), "; ", mebibytes(stats.active_bytes), " in use, ", mebibytes(stats.cached_bytes),
                " cached but fragmented, ", mebibytes(free), " free");
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

const int32_t* Context::offsets(const Segments& segments) {
  const auto offsets = std::const_pointer_cast<std::vector<int32_t>>(segments.offsets());
  return ids(Tensor::view(offsets->data(), {int64_t(offsets->size())}, DType::i32, offsets));
}

void Context::synchronize() { check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }

}  // namespace gyre::cuda
