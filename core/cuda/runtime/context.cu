#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>

#include "gyre/core/cuda/runtime/check.h"
#include "gyre/core/cuda/runtime/context.h"
#include "gyre/core/cuda/runtime/environment.h"
#include "gyre/core/cuda/runtime/gpus.h"
#include "gyre/core/io/file.h"

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

namespace {

constexpr size_t kUploadRegion = size_t{16} << 20;
constexpr size_t kStaging = size_t{4} << 20;
constexpr size_t kFewCopies = 512;
// A copy is dropped after this number of calls without a use, even if its host memory still exists (as for slices of a
// long-lived tensor). The number spans many training steps, so that no copy is dropped that the next kernel needs.
constexpr uint64_t kForgetAfter = 16384;

}  // namespace

Uploads::Uploads(cudaStream_t compute, bool compares, std::function<void()> make_room)
    : compute_(compute),
      compares_(compares),
      make_room_(std::move(make_room)),
      device_(kUploadRegion),
      sweep_at_(kFewCopies) {
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
  check(cudaEventCreateWithFlags(&arrived_, cudaEventDisableTiming), "cudaEventCreate");
  void* staging = nullptr;
  check(cudaMallocHost(&staging, kStaging), "cudaMallocHost");
  staging_ = static_cast<std::byte*>(staging);
}

const std::byte* Uploads::copy_of(const Tensor& host) {
  require(host.device() == Device{}, "[cuda] expected ids, positions or targets on the CPU, got them on ",
          host.device());
  const void* data = host.raw();
  const size_t bytes = host.bytes();
  const std::shared_ptr<const void> owner = host.owner();
  if (bytes == 0) return nullptr;
  require(owner != nullptr, "[cuda] expected ids, positions or targets that own their memory");
  ++calls_;
  const uint32_t checksum = compares_ ? crc32c(data, bytes) : 0;
  const Key key{data, bytes};
  auto found = copies_.find(key);
  if (found != copies_.end() && (found->second.host.owner_before(owner) || owner.owner_before(found->second.host))) {
    retire({found->second.device});
    copies_.erase(found);
    found = copies_.end();
  }
  if (found == copies_.end()) {
    if (copies_.size() >= sweep_at_) retire_unused();
    reclaim();
    found = copies_.emplace(key, Copy{owner, send(data, bytes), calls_, checksum}).first;
  }
  require(found->second.checksum == checksum, "[cuda] ids, positions or targets changed after their first use");
  found->second.last_use = calls_;
  return found->second.device;
}

// Copies host memory to a new block. The compute stream waits for the copy. The copy need not wait for the compute
// stream, because the block is new or all kernels that read it have finished.
std::byte* Uploads::send(const void* data, size_t bytes) {
  const auto taken = [&]() -> std::byte* {
    try {
      return device_.take(bytes);
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
  };
  std::byte* device = taken();
  if (!device) {
    make_room_();
    device = taken();
  }
  require(device != nullptr, "[cuda] out of memory: cannot allocate ", bytes, " bytes for the ids of a batch");
  for (size_t done = 0; done < bytes;) {
    if (staged_ == kStaging) {
      check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize(copies)");
      staged_ = 0;
    }
    const size_t part = std::min(bytes - done, kStaging - staged_);
    std::memcpy(staging_ + staged_, static_cast<const std::byte*>(data) + done, part);
    check(cudaMemcpyAsync(device + done, staging_ + staged_, part, cudaMemcpyHostToDevice, stream_), "cudaMemcpyAsync");
    staged_ += part;
    done += part;
  }
  check(cudaEventRecord(arrived_, stream_), "cudaEventRecord");
  check(cudaStreamWaitEvent(compute_, arrived_), "cudaStreamWaitEvent");
  return device;
}

// Frees the blocks when the compute stream reaches this point; all kernels that read them are queued before.
void Uploads::retire(std::vector<std::byte*> blocks) {
  Retired retired{std::move(blocks), nullptr};
  check(cudaEventCreateWithFlags(&retired.last_use, cudaEventDisableTiming), "cudaEventCreate");
  check(cudaEventRecord(retired.last_use, compute_), "cudaEventRecord");
  retired_.push_back(std::move(retired));
}

void Uploads::retire_unused() {
  std::vector<std::byte*> blocks;
  for (auto copy = copies_.begin(); copy != copies_.end();) {
    const bool unused = copy->second.host.expired() || calls_ - copy->second.last_use > kForgetAfter;
    if (unused) blocks.push_back(copy->second.device);
    copy = unused ? copies_.erase(copy) : std::next(copy);
  }
  if (!blocks.empty()) retire(std::move(blocks));
  sweep_at_ = std::max(kFewCopies, 2 * copies_.size());
}

void Uploads::reclaim() {
  while (!retired_.empty()) {
    const Retired& oldest = retired_.front();
    const cudaError_t status = cudaEventQuery(oldest.last_use);
    if (status == cudaErrorNotReady) return;
    check(status, "cudaEventQuery");
    check(cudaEventDestroy(oldest.last_use), "cudaEventDestroy");
    for (std::byte* block : oldest.blocks) device_.give_back(block);
    retired_.pop_front();
  }
}

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
  if (const std::string missing = missing_code(); !missing.empty()) throw UsageError("[cuda] ", missing);
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, index), "cudaGetDeviceProperties");
  name_ = properties.name;
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
  check(cublasLtCreate(&cublas_), "cublasLtCreate");
  workspace_ = allocate(kWorkspace);
  uploads_ = std::make_unique<Uploads>(stream_, poisons_, [this] { pool_.release(); });
}

std::shared_ptr<void> Context::allocate(size_t bytes) {
  std::shared_ptr<void> block(take(bytes), [this](void* data) { pool_.give_back(static_cast<std::byte*>(data)); });
  if (poisons_)
    check(cudaMemsetAsync(block.get(), kPoison, pool_.block_bytes(bytes), stream_), "cudaMemsetAsync(poison)");
  return block;
}

std::byte* Context::take(size_t bytes) {
  try {
    return pool_.take(bytes);
  } catch (const std::bad_alloc&) {
    size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    const MemoryStats stats = pool_.stats();
    throw Error("[cuda] out of memory on cuda:", index_, " (", name_, ", ", mebibytes(total), "): requested ",
                mebibytes(bytes), "; ", mebibytes(stats.active_bytes), " in use, ", mebibytes(stats.cached_bytes),
                " cached but fragmented, ", mebibytes(free), " free");
  }
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
