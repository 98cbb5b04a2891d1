// The GPU of this process: its stream, its memory pool, its cublasLt handle and its copies of host metadata.
//
// All kernels, memsets and copies run on one stream. A freed block of memory can therefore be reused at once, because
// work of the new owner is queued after work of the old owner.
//
// A process uses one GPU: the first one passed to of(). A job on several GPUs runs one rank per GPU.
//
// For tests: with the environment variable GYRE_CUDA_POISON=1, each new block of memory is filled with NaN, so that a
// kernel that reads what nobody wrote gives NaN, also if the pool reuses memory, and host metadata that changed after
// its first use is an error. GYRE_CUDA_POOL=0 (DevicePool) shows accesses behind the end of a tensor.
#pragma once

#include <cublasLt.h>
#include <cuda_runtime.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gyre/core/cuda/runtime/check.h"
#include "gyre/core/kernels/kernels.h"
#include "gyre/core/memory.h"
#include "gyre/core/tensor.h"

namespace gyre::cuda {

// Memory of the GPU for tensors and for copies of host metadata. Takes blocks from a pool of large regions. With the
// environment variable GYRE_CUDA_POOL=0, each block is an allocation of its own, of exactly the size that was asked
// for. That is slow, but compute-sanitizer and the emulated GPU then see accesses behind the end of a block, which
// would be inside of a region otherwise. Thread-safe.
class DevicePool {
 public:
  explicit DevicePool(size_t region_bytes);
  DevicePool(const DevicePool&) = delete;
  DevicePool& operator=(const DevicePool&) = delete;

  std::byte* take(size_t bytes);     // aligned to 256 bytes; throws std::bad_alloc
  void give_back(std::byte* block);  // does not report errors of the GPU, which the next call that waits does
  size_t block_bytes(size_t bytes) const { return blocks_.block_bytes(bytes); }
  void release() { blocks_.release(); }  // returns the regions without a block in use to the GPU
  MemoryStats stats() const { return blocks_.stats(); }

 private:
  bool pooled_;
  BlockPool blocks_;
};

// Cache of host metadata (ids, positions, targets, ancestries, work lists) on a GPU. Host metadata never changes after
// its first use (core/kernels/kernels.h), so that each tensor is copied once and the copy is kept as long as the
// tensor. Copies go through pinned memory on a separate stream: the next batch is copied while the GPU computes. Not
// thread-safe: only for the thread that queues kernels on the compute stream. Lives until the process ends.
class Uploads {
 public:
  // compares: a copy is compared with the host memory at each use. make_room: returns unused memory of the tensors to
  // the GPU, called if there is none left for a copy.
  Uploads(cudaStream_t compute, bool compares, std::function<void()> make_room);
  Uploads(const Uploads&) = delete;
  Uploads& operator=(const Uploads&) = delete;

  // A device pointer to a copy of `host`, or null if the tensor is empty. The pointer is valid for the kernel that is
  // queued next on the compute stream. Call get() again for each kernel.
  const int32_t* get(const Tensor& host) {
    host.data<int32_t>();  // throws Error if the tensor has another dtype
    return reinterpret_cast<const int32_t*>(copy_of(host));
  }

 private:
  using Key = std::pair<const void*, size_t>;  // address, bytes
  struct Copy {
    std::weak_ptr<const void> host;  // detects that the memory at the address was freed or has another owner
    std::byte* device;
    uint64_t last_use;  // value of calls_ at the last use
    uint32_t checksum;  // checksum of the host memory at the first use, if copies are compared
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
  bool compares_;
  std::function<void()> make_room_;
  cudaEvent_t arrived_ = nullptr;
  DevicePool device_;             // separate from the tensor pool, whose free blocks the compute stream may still use
  std::byte* staging_ = nullptr;  // pinned
  size_t staged_ = 0;             // bytes of `staging_` that pending copies may read
  std::map<Key, Copy> copies_;
  std::deque<Retired> retired_;
  size_t sweep_at_;  // number of copies at which unused ones are removed
  uint64_t calls_ = 0;
};

class Context {
 public:
  // The context of GPU `index`, created at the first call and never destroyed. Also makes the GPU the current device of
  // the calling thread. Throws UsageError if the GPU cannot be used, or if this process uses another one.
  static Context& of(int index);

  int index() const { return index_; }
  const std::string& name() const { return name_; }  // "NVIDIA H200"
  cudaStream_t stream() const { return stream_; }
  cublasLtHandle_t cublas() const { return cublas_; }
  void* workspace() const { return workspace_.get(); }  // workspace of cublasLt, for one product at a time
  static constexpr size_t kWorkspace = size_t{32} << 20;

  std::shared_ptr<void> allocate(size_t bytes);  // aligned to 256 bytes; throws Error if out of memory
  MemoryStats memory_stats() const { return pool_.stats(); }

  // An uninitialized tensor on this GPU.
  Tensor empty(const Shape& shape, DType dtype);

  // Device pointers to host metadata, which is copied at its first use. Only for the thread that queues kernels.
  const int32_t* ids(const Tensor& host) { return uploads_->get(host); }
  const int32_t* offsets(const Segments& segments);  // count() + 1 numbers

  void synchronize();

 private:
  explicit Context(int index);

  std::byte* take(size_t bytes);

  int index_;
  bool poisons_;
  std::string name_;
  cudaStream_t stream_ = nullptr;
  cublasLtHandle_t cublas_ = nullptr;
  DevicePool pool_;
  std::shared_ptr<void> workspace_;
  std::unique_ptr<Uploads> uploads_;
};

}  // namespace gyre::cuda
