// Copies of ids, positions, targets, paths and lists of work on a GPU. Host metadata never changes after its first use
// (core/kernels.h), so each is copied once and its copy lives as long as it does. Copies leave from pinned memory on a
// stream of their own: the next batch arrives while the GPU works on this one.
#pragma once

#include <cuda_runtime.h>

#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "core/block_pool.h"
#include "core/tensor.h"

namespace gyre::cuda {

// Of one thread: the one that queues kernels on the compute stream. Lives until the process ends.
class Uploads {
 public:
  // `memory` gives regions of which the compute stream never hears otherwise.
  Uploads(cudaStream_t compute, BlockPool::Source memory);
  Uploads(const Uploads&) = delete;
  Uploads& operator=(const Uploads&) = delete;

  // On the GPU, for the kernel that is queued next on the compute stream: ask again for each. An empty tensor gives
  // null.
  template <class T>
  const T* get(const Tensor& host) {
    host.data<T>();  // throws where it is of another type
    return reinterpret_cast<const T*>(copy_of(host));
  }

  size_t copies() const { return copies_.size(); }  // kept now

 private:
  using Key = std::pair<const void*, size_t>;  // address, bytes
  struct Copy {
    std::weak_ptr<const void> host;  // another owner or none: what lies at the address now is something else
    std::byte* device;
    uint64_t last_use;  // by the count of calls
  };
  struct Retired {
    std::vector<std::byte*> blocks;
    cudaEvent_t last_use;  // on the compute stream
  };

  const std::byte* copy_of(const Tensor& host);
  std::byte* send(const void* data, size_t bytes);
  void retire(std::vector<std::byte*> blocks);
  void retire_unused();
  void reclaim();

  cudaStream_t compute_, stream_ = nullptr;
  cudaEvent_t arrived_ = nullptr;
  BlockPool device_;              // apart from the tensors' memory, whose blocks the compute stream may still be using
  std::byte* staging_ = nullptr;  // pinned
  size_t staged_ = 0;             // bytes of it that copies on the way may be reading
  std::map<Key, Copy> copies_;
  std::deque<Retired> retired_;
  size_t sweep_at_;  // copies kept before the unused ones are looked for
  uint64_t calls_ = 0;
};

}  // namespace gyre::cuda
