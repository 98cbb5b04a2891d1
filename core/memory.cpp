#include "core/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <mutex>
#include <new>

namespace gyre {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kChunk = 16 * kHugePage;  // what smaller blocks are cut from

// Rounds up to one of eight sizes per power of two, so that batches of slightly different size reuse each other's
// blocks.
size_t size_class(size_t bytes) {
  if (bytes <= 8 * kAlignment) return (bytes + kAlignment - 1) / kAlignment * kAlignment;
  const size_t step = std::bit_floor(bytes - 1) / 8;
  return (bytes + step - 1) / step * step;
}

// Memory on huge pages where the system has them: a product of large matrices on small pages spends a third of its time
// on address translation.
std::byte* system_memory(size_t size) {
  void* data = std::aligned_alloc(kHugePage, (size + kHugePage - 1) / kHugePage * kHugePage);
  if (!data) throw std::bad_alloc();
  madvise(data, size, MADV_HUGEPAGE);  // a wish: no error when it is not granted
  return static_cast<std::byte*>(data);
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
      block.data = size < kHugePage ? cut(size) : fetch(size);
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

  // Blocks that were cut from a chunk stay.
  void release() {
    std::lock_guard lock(mutex_);
    const auto large = free_.lower_bound(kHugePage);
    for (auto block = large; block != free_.end(); ++block) {
      std::free(block->second);
      stats_.cached_bytes -= block->first;
    }
    free_.erase(large, free_.end());
  }

  MemoryStats stats() {
    std::lock_guard lock(mutex_);
    return stats_;
  }

 private:
  std::byte* fetch(size_t size) {
    ++stats_.system_allocations;
    return system_memory(size);
  }

  std::byte* cut(size_t size) {
    if (chunk_left_ < size) {
      chunk_ = fetch(kChunk);
      chunk_left_ = kChunk;
    }
    std::byte* data = chunk_;
    chunk_ += size;
    chunk_left_ -= size;
    return data;
  }

  std::mutex mutex_;
  std::byte* chunk_ = nullptr;
  size_t chunk_left_ = 0;
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
