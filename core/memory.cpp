#include "gyre/core/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <new>

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

// Never destroyed: tensors with static lifetime may outlive every other object.
BlockPool& pool() {
  static auto* instance = new BlockPool({fetch, [](std::byte* region, size_t) { std::free(region); }}, kRegion);
  return *instance;
}

}  // namespace

std::shared_ptr<void> allocate(size_t bytes) {
  try {
    return {pool().take(bytes), [](void* data) { pool().give_back(static_cast<std::byte*>(data)); }};
  } catch (const std::bad_alloc&) {
    throw Error("[memory] out of memory: a tensor of ", bytes, " bytes was requested, ", memory_stats().active_bytes,
                " bytes are in use");
  }
}

MemoryStats memory_stats() { return pool().stats(); }

size_t BlockPool::block_bytes(size_t bytes) const {
  return (std::max<size_t>(bytes, 1) + alignment_ - 1) / alignment_ * alignment_;
}

MemoryStats BlockPool::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

std::byte* BlockPool::take(size_t bytes) {
  const std::lock_guard lock(mutex_);
  bytes = block_bytes(bytes);
  auto fit = free_.lower_bound({bytes, nullptr});
  if (fit == free_.end()) fit = fetch(bytes);
  const auto [found, data] = *fit;
  free_.erase(fit);
  Block& block = blocks_.at(data);
  block.free = false;
  if (found > bytes) {
    block.bytes = bytes;
    blocks_[data + bytes] = {found - bytes, true, false};
    free_.emplace(found - bytes, data + bytes);
  }
  stats_.cached_bytes -= bytes;
  stats_.active_bytes += bytes;
  stats_.peak_bytes = std::max(stats_.peak_bytes, stats_.active_bytes);
  return data;
}

void BlockPool::give_back(std::byte* data) {
  const std::lock_guard lock(mutex_);
  auto block = blocks_.find(data);
  stats_.active_bytes -= block->second.bytes;
  stats_.cached_bytes += block->second.bytes;
  if (const auto next = std::next(block); next != blocks_.end() && next->second.free && !next->second.first) {
    free_.erase({next->second.bytes, next->first});
    block->second.bytes += next->second.bytes;
    blocks_.erase(next);
  }
  if (!block->second.first && std::prev(block)->second.free) {
    const auto previous = std::prev(block);
    free_.erase({previous->second.bytes, previous->first});
    previous->second.bytes += block->second.bytes;
    blocks_.erase(block);
    block = previous;
  }
  block->second.free = true;
  free_.emplace(block->second.bytes, block->first);
}

void BlockPool::release() {
  const std::lock_guard lock(mutex_);
  release_regions();
}

void BlockPool::release_regions() {
  for (auto block = blocks_.begin(); block != blocks_.end();) {
    const auto next = std::next(block);
    const auto [bytes, free, first] = block->second;
    if (free && first && (next == blocks_.end() || next->second.first)) {
      free_.erase({bytes, block->first});
      source_.release(block->first, bytes);
      stats_.cached_bytes -= bytes;
      blocks_.erase(block);
    }
    block = next;
  }
}

// Adds a new region, which is one free block.
BlockPool::FreeBlocks::iterator BlockPool::fetch(size_t bytes) {
  size_t region = std::max(bytes, region_bytes_);
  const auto fetched = [&]() -> std::byte* {
    try {
      return source_.fetch(region);
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
  };
  std::byte* data = fetched();
  if (!data) {
    release_regions();
    data = fetched();
  }
  while (!data) {
    if (region == bytes) throw std::bad_alloc();
    region = std::max(bytes, block_bytes(region / 2));
    data = fetched();
  }
  ++stats_.system_allocations;
  stats_.cached_bytes += region;
  blocks_[data] = {region, true, true};
  return free_.emplace(region, data).first;
}

}  // namespace gyre
