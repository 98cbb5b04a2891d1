#include "gyre/core/memory.h"

#include <sys/mman.h>

#include <cstdlib>
#include <mutex>
#include <new>

#include "gyre/core/block_pool.h"
#include "gyre/core/error.h"

namespace gyre {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;
// Regions may be large, because pages that are never touched take no physical memory.
constexpr size_t kRegion = size_t{256} << 20;

// Allocates on huge pages if the system has them. On small pages, a product of large matrices spends a third of its
// time on address translation.
std::byte* fetch(size_t bytes) {
  void* data = std::aligned_alloc(kHugePage, (bytes + kHugePage - 1) / kHugePage * kHugePage);
  if (!data) throw std::bad_alloc();
  madvise(data, bytes, MADV_HUGEPAGE);  // a hint: failure is ignored
  return static_cast<std::byte*>(data);
}

class CachingAllocator {
 public:
  std::byte* take(size_t bytes) {
    std::lock_guard lock(mutex_);
    return pool_.take(bytes);
  }
  void give_back(std::byte* data) {
    std::lock_guard lock(mutex_);
    pool_.give_back(data);
  }
  MemoryStats stats() {
    std::lock_guard lock(mutex_);
    return pool_.stats();
  }

 private:
  std::mutex mutex_;
  BlockPool pool_{{fetch, [](std::byte* region, size_t) { std::free(region); }}, kRegion};
};

// Never destroyed: tensors with static lifetime may outlive every other object.
CachingAllocator& allocator() {
  static auto* instance = new CachingAllocator;
  return *instance;
}

}  // namespace

std::shared_ptr<void> allocate(size_t bytes) {
  try {
    return {allocator().take(bytes), [](void* data) { allocator().give_back(static_cast<std::byte*>(data)); }};
  } catch (const std::bad_alloc&) {
    throw Error("[memory] out of memory: a tensor of ", bytes, " bytes was requested, ", memory_stats().active_bytes,
                " bytes are in use");
  }
}

MemoryStats memory_stats() { return allocator().stats(); }

}  // namespace gyre
