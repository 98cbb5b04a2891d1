#include "core/memory.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <map>
#include <mutex>
#include <new>

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

struct Block {
  void* data;
  size_t size;
};

class CachingAllocator {
 public:
  // The smallest kept block that fits without wasting a third of itself, otherwise a new one.
  Block take(size_t size) {
    std::lock_guard lock(mutex_);
    Block block{nullptr, size};
    if (const auto fit = free_.lower_bound(size); fit != free_.end() && fit->first <= size + size / 2) {
      const auto latest = std::prev(free_.upper_bound(fit->first));  // of that size: the likeliest to be in cache
      block = {latest->second, latest->first};
      free_.erase(latest);
      stats_.cached_bytes -= block.size;
    } else {
      ++stats_.system_allocations;
      block.data = std::aligned_alloc(kAlignment, size);
      if (!block.data) throw std::bad_alloc();
    }
    stats_.active_bytes += block.size;
    stats_.peak_bytes = std::max(stats_.peak_bytes, stats_.active_bytes);
    return block;
  }

  void give_back(Block block) {
    std::lock_guard lock(mutex_);
    free_.emplace(block.size, block.data);
    stats_.active_bytes -= block.size;
    stats_.cached_bytes += block.size;
  }

  void release() {
    std::lock_guard lock(mutex_);
    for (const auto& [size, data] : free_) std::free(data);
    free_.clear();
    stats_.cached_bytes = 0;
  }

  MemoryStats stats() {
    std::lock_guard lock(mutex_);
    return stats_;
  }

 private:
  std::mutex mutex_;
  std::multimap<size_t, void*> free_;  // by size
  MemoryStats stats_;
};

// Never destroyed: tensors with static lifetime may outlive every other object.
CachingAllocator& allocator() {
  static auto* instance = new CachingAllocator;
  return *instance;
}

}  // namespace

std::shared_ptr<void> allocate(size_t bytes) {
  const Block block = allocator().take(size_class(std::max<size_t>(bytes, 1)));
  return {block.data, [block](void*) { allocator().give_back(block); }};
}

MemoryStats memory_stats() { return allocator().stats(); }
void release_cached_memory() { allocator().release(); }

}  // namespace gyre
