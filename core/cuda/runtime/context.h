// The GPU of this process: its stream, its memory pool, its cublasLt handle and its copies of host metadata.
//
// All kernels, memsets and copies run on one stream. A freed block of memory can therefore be reused at once, because
// work of the new owner is queued after work of the old owner.
//
// A process uses one GPU: the first one passed to of(). A job on several GPUs runs one rank per GPU.
//
// For tests: with the environment variable GYRE_CUDA_POISON=1, each new block of memory is filled with NaN, so that a
// kernel that reads what nobody wrote gives NaN, also if the pool reuses memory. GYRE_CUDA_POOL=0 (device_pool.h) shows
// accesses behind the end of a tensor.
#pragma once

#include <cublasLt.h>

#include <memory>
#include <mutex>
#include <string>

#include "gyre/core/cuda/runtime/check.h"
#include "gyre/core/cuda/runtime/device_pool.h"
#include "gyre/core/cuda/runtime/uploads.h"
#include "gyre/core/kernels/kernels.h"

namespace gyre::cuda {

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
  MemoryStats memory_stats();

  // An uninitialized tensor on this GPU.
  Tensor empty(const Shape& shape, DType dtype);

  // Device pointers to host metadata, which is copied at its first use. Only for the thread that queues kernels.
  const int32_t* ids(const Tensor& host) { return uploads_->get<int32_t>(host); }
  const float* numbers(const Tensor& host) { return uploads_->get<float>(host); }
  const int32_t* offsets(const Segments& segments);  // count() + 1 numbers

  void synchronize();

 private:
  explicit Context(int index);

  std::byte* take(size_t bytes);
  void give_back(void* block);

  int index_;
  bool poisons_;
  std::string name_;
  cudaStream_t stream_ = nullptr;
  cublasLtHandle_t cublas_ = nullptr;
  std::mutex mutex_;  // guards pool_
  DevicePool pool_;
  std::shared_ptr<void> workspace_;
  std::unique_ptr<Uploads> uploads_;
};

}  // namespace gyre::cuda
