// Memory of tensors on the CPU, and the allocator behind it. Freed blocks are cached and reused. Regions use huge pages
// if the system has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

namespace gyre {

struct MemoryStats {
  size_t active_bytes = 0;          // bytes in use
  size_t peak_bytes = 0;            // maximum of active_bytes so far
  size_t cached_bytes = 0;          // allocated from the system, but not in use
  uint64_t system_allocations = 0;  // number of allocations from the system so far
};

// Allocates uninitialized memory, aligned to 64 bytes. Throws Error if the system is out of memory. Thread-safe.
std::shared_ptr<void> allocate(size_t bytes);
MemoryStats memory_stats();

// Best-fit allocator: splits large regions into blocks and merges adjacent free blocks again. Batches of varying shape
// share one set of regions, so that training in a steady state allocates nothing from the system. The pool never
// accesses the memory itself, which may be device memory. Thread-safe.
class BlockPool {
 public:
  // Allocates regions, with the alignment of blocks, and frees them. `fetch` throws std::bad_alloc on failure;
  // `release` does not throw.
  struct Source {
    std::function<std::byte*(size_t bytes)> fetch;
    std::function<void(std::byte* region, size_t bytes)> release;
  };
  static constexpr size_t kAlignment = 64;

  BlockPool(Source source, size_t region_bytes, size_t alignment = kAlignment)
      : source_(std::move(source)), region_bytes_(region_bytes), alignment_(alignment) {}
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  // Allocates an aligned block. If the source has no memory for a region, it is called again after release(), and then
  // for smaller and smaller regions; throws std::bad_alloc if there is none for the block alone.
  std::byte* take(size_t bytes);
  void give_back(std::byte* block);
  size_t block_bytes(size_t bytes) const;  // the size of the block that take(bytes) returns
  void release();                          // returns all regions without a block in use to the source
  MemoryStats stats() const;

 private:
  struct Block {
    size_t bytes;
    bool free;
    bool first;  // the first block of its region
  };
  using Blocks = std::map<std::byte*, Block>;  // ordered by address, without gaps inside a region

  using FreeBlocks = std::set<std::pair<size_t, std::byte*>>;  // ordered by size, then address

  FreeBlocks::iterator fetch(size_t bytes);
  void release_regions();

  mutable std::mutex mutex_;  // guards the members below, for calls from several threads
  Source source_;
  size_t region_bytes_, alignment_;
  Blocks blocks_;
  FreeBlocks free_;
  MemoryStats stats_;
};

}  // namespace gyre
