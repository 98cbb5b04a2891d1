#include "core/memory.h"

#include <bit>
#include <cstdlib>
#include <map>
#include <mutex>
#include <new>
#include <vector>

namespace gyre {
namespace {

constexpr size_t kAlignment = 64;

// Rounds up to one of eight sizes per power of two, so that batches of slightly different size reuse each other's
// blocks.
size_t size_class(size_t bytes) {
  if (bytes <= 8 * kAlignment) return (bytes + kAlignment - 1) / kAlignment * kAlignment;
  const size_t step = std::bit_floor(bytes - 1) / 8;
  return (bytes + step - 1) / step * step;
}

class CachingAllocator {
 public:
  void* take(size_t size) {
    std::lock_guard lock(mutex_);
    stats_.active_bytes += size;
    stats_.peak_bytes = std::max(stats_.peak_bytes, stats_.active_bytes);
    auto& free = free_[size];
    if (!free.empty()) {
      void* block = free.back();
      free.pop_back();
      stats_.cached_bytes -= size;
      return block;
    }
    ++stats_.system_allocations;
    if (void* block = std::aligned_alloc(kAlignment, size)) return block;
    stats_.active_bytes -= size;
    throw std::bad_alloc();
  }

  void give_back(void* block, size_t size) {
    std::lock_guard lock(mutex_);
    free_[size].push_back(block);
    stats_.active_bytes -= size;
    stats_.cached_bytes += size;
  }

  void release() {
    std::lock_guard lock(mutex_);
    for (auto& [size, blocks] : free_) {
      for (void* block : blocks) std::free(block);
    }
    free_.clear();
    stats_.cached_bytes = 0;
  }

  MemoryStats stats() {
    std::lock_guard lock(mutex_);
    return stats_;
  }

 private:
  std::mutex mutex_;
  std::map<size_t, std::vector<void*>> free_;
  MemoryStats stats_;
};

// Never destroyed: tensors with static lifetime may outlive every other object.
CachingAllocator& allocator() {
  static auto* instance = new CachingAllocator;
  return *instance;
}

}  // namespace

std::shared_ptr<void> allocate(size_t bytes) {
  const size_t size = size_class(std::max<size_t>(bytes, 1));
  return {allocator().take(size), [size](void* block) { allocator().give_back(block, size); }};
}

MemoryStats memory_stats() { return allocator().stats(); }
void release_cached_memory() { allocator().release(); }

}  // namespace gyre
