// Cache of host metadata (ids, positions, targets, ancestries, work lists) on a GPU. Host metadata never changes after
// its first use (core/kernels/kernels.h), so that each tensor is copied once and the copy is kept as long as the
// tensor. Copies go through pinned memory on a separate stream: the next batch is copied while the GPU computes.
#pragma once

#include <cuda_runtime.h>

#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "gyre/core/cuda/runtime/device_pool.h"
#include "gyre/core/tensor.h"

namespace gyre::cuda {

// Not thread-safe: only for the thread that queues kernels on the compute stream. Lives until the process ends.
class Uploads {
 public:
  explicit Uploads(cudaStream_t compute);
  Uploads(const Uploads&) = delete;
  Uploads& operator=(const Uploads&) = delete;

  // A device pointer to a copy of `host`, or null if the tensor is empty. The pointer is valid for the kernel that is
  // queued next on the compute stream. Call get() again for each kernel.
  template <class T>
  const T* get(const Tensor& host) {
    host.data<T>();  // throws Error if the tensor has another dtype
    return reinterpret_cast<const T*>(copy_of(host));
  }

  size_t copies() const { return copies_.size(); }  // number of copies in the cache

 private:
  using Key = std::pair<const void*, size_t>;  // address, bytes
  struct Copy {
    std::weak_ptr<const void> host;  // detects that the memory at the address was freed or has another owner
    std::byte* device;
    uint64_t last_use;  // value of calls_ at the last use
  };
  // Blocks to free when the compute stream has passed the event.
  struct Retired {
    std::vector<std::byte*> blocks;
    cudaEvent_t last_use;
  };

  const std::byte* copy_of(const Tensor& host);
  std::byte* send(const void* data, size_t bytes);
  void retire(std::vector<std::byte*> blocks);
  void retire_unused();
  void reclaim();

  cudaStream_t compute_, stream_ = nullptr;
  cudaEvent_t arrived_ = nullptr;
  DevicePool device_;             // separate from the tensor pool, whose free blocks the compute stream may still use
  std::byte* staging_ = nullptr;  // pinned
  size_t staged_ = 0;             // bytes of `staging_` that pending copies may read
  std::map<Key, Copy> copies_;
  std::deque<Retired> retired_;
  size_t sweep_at_;  // number of copies at which unused ones are removed
  uint64_t calls_ = 0;
};

}  // namespace gyre::cuda
