// A caching allocator: freed blocks are kept and handed out again, so that a steady-state training step makes no system
// allocation. Sizes are rounded up to eight classes per power of two (at most 12.5 % more), and a block serves anything
// down to two thirds of its size. Memory comes on huge pages where the system has them; blocks below 2 MB are cut from
// chunks of 32 MB.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace gyre {

struct MemoryStats {
  size_t active_bytes = 0;          // handed out now
  size_t peak_bytes = 0;            // the most ever handed out
  size_t cached_bytes = 0;          // kept for reuse
  uint64_t system_allocations = 0;  // calls to the system so far
};

// 64-byte aligned; not initialised.
std::shared_ptr<void> allocate(size_t bytes);
MemoryStats memory_stats();
void release_cached_memory();  // blocks of 2 MB and more

}  // namespace gyre
