// The memory of tensors: freed blocks are kept and handed out again (core/block_pool.h), on huge pages where the system
// has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace gyre {

struct MemoryStats {
  size_t active_bytes = 0;          // handed out now
  size_t peak_bytes = 0;            // the most ever handed out
  size_t cached_bytes = 0;          // kept for reuse, or never used yet
  uint64_t system_allocations = 0;  // calls to the system so far
};

// 64-byte aligned; not initialised.
std::shared_ptr<void> allocate(size_t bytes);
MemoryStats memory_stats();

}  // namespace gyre
