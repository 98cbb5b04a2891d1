// Copies of ids, positions, targets, paths and offsets on a GPU. Host tensors of i32 never change after their first use
// (core/kernels.h), so each is copied once and its copy lives as long as it does. Copies leave from pinned memory on a
// stream of their own: the next batch arrives while the GPU works on this one.
#pragma once

#include <cuda_runtime.h>

#include <deque>
#include <memory>
#include <unordered_map>

#include "core/block_pool.h"
#include "core/segments.h"
#include "core/tensor.h"

namespace gyre::cuda {

class Uploads {
 public:
  explicit Uploads(cudaStream_t compute);
  ~Uploads();
  Uploads(const Uploads&) = delete;
  Uploads& operator=(const Uploads&) = delete;

  // On the GPU, for kernels that are queued on the compute stream from now on. An empty tensor gives null.
  const int32_t* get(const Tensor& host);
  const int32_t* get(const Segments& segments);

 private:
  struct Copy {
    std::weak_ptr<const void> host;  // expired: the address may belong to something else now
    std::byte* device;
    size_t bytes;
  };
  struct Retired {
    std::byte* device;
    cudaEvent_t last_use;  // on the compute stream
  };

  const int32_t* get(const void* data, size_t bytes, const std::shared_ptr<const void>& owner);
  std::byte* send(const void* data, size_t bytes);
  void retire(std::byte* device);
  void drop_expired();
  void reclaim();

  cudaStream_t compute_, copies_ = nullptr;
  cudaEvent_t arrived_ = nullptr;
  BlockPool
      device_;  // apart from the tensors' memory: blocks are reused only when the compute stream is done with them
  std::byte* staging_ = nullptr;  // pinned, a ring
  size_t staging_used_ = 0;
  std::unordered_map<const void*, Copy> copies_by_address_;
  std::deque<Retired> retired_;
};

}  // namespace gyre::cuda
