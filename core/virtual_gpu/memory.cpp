#include "gyre/core/memory.h"

#include <atomic>
#include <cstring>
#include <utility>

#include "gyre/core/virtual_gpu/virtual_gpu.h"
#include "gyre/core/virtual_gpu/virtual_kernels.h"

namespace gyre {
namespace {

// As in core/cuda/runtime/context.cu.
constexpr size_t kRegionBytes = size_t{512} << 20, kAlignment = 256;

// A region has addresses that no other region has. They are never dereferenced. The gap keeps regions apart.
std::byte* fetch_addresses(size_t bytes) {
  static std::atomic<uintptr_t> next = kRegionBytes;
  const uintptr_t address = next.fetch_add((bytes / kRegionBytes + 2) * kRegionBytes);
  return reinterpret_cast<std::byte*>(address);  // NOLINT(performance-no-int-to-ptr)
}

BlockPool* make_virtual_pool() {
  return new BlockPool({fetch_addresses, [](std::byte*, size_t) {}}, kRegionBytes, kAlignment);
}

// Never destroyed: tensors with static lifetime may outlive every other object.
BlockPool*& virtual_pool() {
  static BlockPool* instance = make_virtual_pool();
  return instance;
}

}  // namespace

std::shared_ptr<void> virtual_allocate(size_t bytes) {
  return {virtual_pool()->take(bytes), [](void* block) { virtual_pool()->give_back(static_cast<std::byte*>(block)); }};
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

MemoryStats virtual_memory_stats() { return virtual_pool()->stats(); }

void reset_virtual_memory() {
  const size_t used = virtual_pool()->stats().active_bytes;
  require(used == 0, "[virtual GPU] expected no tensors, got ", used, " bytes of them");
  delete std::exchange(virtual_pool(), make_virtual_pool());
}

}  // namespace gyre
