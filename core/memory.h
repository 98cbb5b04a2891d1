// Memory of tensors on the CPU. Freed blocks are cached and reused (core/block_pool.h). Regions use huge pages if the
// system has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

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

}  // namespace gyre
