// Memory of the GPU for tensors and for copies of host metadata.
#pragma once

#include "gyre/core/block_pool.h"

namespace gyre::cuda {

// Takes blocks from a pool of large regions. With the environment variable GYRE_CUDA_POOL=0, each block is an
// allocation of its own, of exactly the size that was asked for. That is slow, but compute-sanitizer and the emulated
// GPU then see accesses behind the end of a block, which would be inside of a region otherwise. Not thread-safe.
class DevicePool {
 public:
  explicit DevicePool(size_t region_bytes);
  DevicePool(const DevicePool&) = delete;
  DevicePool& operator=(const DevicePool&) = delete;

  std::byte* take(size_t bytes);     // aligned to 256 bytes; throws std::bad_alloc
  void give_back(std::byte* block);  // does not report errors of the GPU, which the next call that waits does
  size_t block_bytes(size_t bytes) const { return blocks_.block_bytes(bytes); }
  const MemoryStats& stats() const { return blocks_.stats(); }

 private:
  bool pooled_;
  BlockPool blocks_;
};

}  // namespace gyre::cuda
