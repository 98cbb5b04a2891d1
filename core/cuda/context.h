// The GPU of this process: its stream of work, its memory, its library handle, its copies of host metadata.
// All kernels, clears and copies run on one stream, so a block of memory that is given back may be handed out at once:
// whoever gets it is queued behind whoever had it.
//
// A process works on one GPU (the first that it asks for), a job on several GPUs has a rank for each.
#pragma once

#include <cublasLt.h>

#include <memory>
#include <mutex>
#include <string>

#include "core/block_pool.h"
#include "core/cuda/check.h"
#include "core/cuda/uploads.h"
#include "core/kernels.h"

namespace gyre::cuda {

class Context {
 public:
  // The one of GPU `index`, made at the first call and never destroyed; a UsageError where it cannot be used. Makes the
  // GPU the current one of the calling thread.
  static Context& of(int index);

  int index() const { return index_; }
  const std::string& name() const { return name_; }  // "NVIDIA H200"
  cudaStream_t stream() const { return stream_; }
  cublasLtHandle_t cublas() const { return cublas_; }
  void* workspace() const { return workspace_.get(); }  // of cublas, for one product at a time
  static constexpr size_t kWorkspace = size_t{32} << 20;

  std::shared_ptr<void> allocate(size_t bytes);  // 256-byte aligned
  MemoryStats memory_stats();

  // A scratch tensor on this GPU.
  Tensor empty(const Shape& shape, DType dtype);

  // Host metadata on the GPU, copied at its first use. From the thread that queues the kernels.
  const int32_t* ids(const Tensor& host) { return uploads_->get<int32_t>(host); }
  const float* numbers(const Tensor& host) { return uploads_->get<float>(host); }

  void synchronize();

 private:
  explicit Context(int index);

  void give_back(void* block);

  int index_;
  std::string name_;
  cudaStream_t stream_ = nullptr;
  cublasLtHandle_t cublas_ = nullptr;
  std::mutex mutex_;  // of the pool
  BlockPool pool_;
  std::shared_ptr<void> workspace_;
  std::unique_ptr<Uploads> uploads_;
};

}  // namespace gyre::cuda
