// Blocks cut from large regions: the smallest free block that fits is cut, and freed neighbours grow together again. So
// batches of ever-changing shape share one set of regions, and a steady-state training step asks the system for
// nothing. The memory itself is never touched: it may be a device's.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "core/memory.h"

namespace gyre {

// Not thread-safe.
class BlockPool {
 public:
  // What gives regions (aligned as the blocks; throws std::bad_alloc) and takes them back.
  struct Source {
    std::function<std::byte*(size_t bytes)> fetch;
    std::function<void(std::byte* region, size_t bytes)> release;
  };
  static constexpr size_t kAlignment = 64;

  BlockPool(Source source, size_t region_bytes, size_t alignment = kAlignment)
      : source_(std::move(source)), region_bytes_(region_bytes), alignment_(alignment) {}
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  // Aligned. Throws std::bad_alloc when the system has no more, not even after release().
  std::byte* take(size_t bytes);
  void give_back(std::byte* block);
  void release();  // regions of which nothing is handed out
  const MemoryStats& stats() const { return stats_; }

 private:
  struct Block {
    size_t bytes;
    bool free;
    bool first;  // of its region
  };
  using Blocks = std::map<std::byte*, Block>;  // by address, without gaps inside a region

  using FreeBlocks = std::set<std::pair<size_t, std::byte*>>;  // by size, then address

  FreeBlocks::iterator fetch(size_t bytes);

  Source source_;
  size_t region_bytes_, alignment_;
  Blocks blocks_;
  FreeBlocks free_;
  MemoryStats stats_;
};

}  // namespace gyre
