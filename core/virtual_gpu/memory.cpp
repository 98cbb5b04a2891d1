#include "gyre/core/memory.h"

#include <atomic>
#include <cstring>
#include <mutex>
#include <optional>

#include "gyre/core/virtual_gpu/virtual_gpu.h"
#include "gyre/core/virtual_gpu/virtual_kernels.h"

namespace gyre {
namespace {

// As in core/cuda/runtime/context.cu.
constexpr size_t kRegionBytes = size_t{512} << 20, kAlignment = 256;

class VirtualMemory {
 public:
  VirtualMemory() { reset(); }

  std::byte* take(size_t bytes) {
    const std::lock_guard lock(mutex_);
    return pool_->take(bytes);
  }
  void give_back(std::byte* block) {
    const std::lock_guard lock(mutex_);
    pool_->give_back(block);
  }
  MemoryStats stats() {
    const std::lock_guard lock(mutex_);
    return pool_->stats();
  }
  void reset() {
    const std::lock_guard lock(mutex_);
    require(!pool_ || pool_->stats().active_bytes == 0, "[virtual GPU] expected no tensors, got ",
            pool_ ? pool_->stats().active_bytes : 0, " bytes of them");
    next_ = kRegionBytes;
    pool_.emplace(BlockPool::Source{[this](size_t bytes) { return fetch(bytes); }, [](std::byte*, size_t) {}},
                  kRegionBytes, kAlignment);
  }

 private:
  // Addresses that no other region has. They are never dereferenced. The gap keeps regions apart.
  std::byte* fetch(size_t bytes) {
    const uintptr_t address = next_;
    next_ += (bytes / kRegionBytes + 2) * kRegionBytes;
    return reinterpret_cast<std::byte*>(address);  // NOLINT(performance-no-int-to-ptr)
  }

  std::mutex mutex_;
  uintptr_t next_ = 0;
  std::optional<BlockPool> pool_;
};

// Never destroyed: tensors with static lifetime may outlive every other object.
VirtualMemory& memory() {
  static auto* instance = new VirtualMemory;
  return *instance;
}

}  // namespace

std::shared_ptr<void> virtual_allocate(size_t bytes) {
  return {memory().take(bytes), [](void* block) { memory().give_back(static_cast<std::byte*>(block)); }};
}

void virtual_zero(size_t bytes) { virtual_gpu::report({.name = "memset", .bytes = double(bytes)}); }

void virtual_copy(void* to, Device to_device, Device from_device, size_t bytes) {
  if (to_device == from_device) return virtual_gpu::report({.name = "copy", .bytes = 2 * double(bytes)});
  if (to_device != kVirtualGpu) std::memset(to, 0, bytes);
  virtual_gpu::report({.name = "wait for a copy", .kind = GpuWork::Kind::wait});
}

uint64_t virtual_read_back() {
  static std::atomic<uint64_t> readbacks = 0;
  const uint64_t number = ++readbacks;
  virtual_gpu::report({.name = "copy to the CPU", .kind = GpuWork::Kind::readback, .launches = 0, .readback = number});
  return number;
}

void virtual_wait(uint64_t readback) {
  virtual_gpu::report({.name = "wait for a copy", .kind = GpuWork::Kind::wait, .readback = readback});
}

MemoryStats virtual_memory_stats() { return memory().stats(); }

void reset_virtual_memory() { memory().reset(); }

}  // namespace gyre
