// One GPU of this process: its stream of work, its memory, its library handles, its copies of host metadata.
// All kernels, clears and copies run on one stream, so a block of memory that is given back may be handed out at once:
// whoever gets it is queued behind whoever had it.
#pragma once

#include <cublasLt.h>

#include <memory>

#include "core/block_pool.h"
#include "core/cuda/check.h"
#include "core/cuda/uploads.h"
#include "core/kernels.h"

namespace gyre::cuda {

class Context {
 public:
  // The one of GPU `index`, made at the first call; a UsageError where it cannot be used.
  static Context& of(int index);

  int index() const { return index_; }
  cudaStream_t stream() const { return stream_; }
  int multiprocessors() const { return multiprocessors_; }
  size_t shared_memory_limit() const { return shared_memory_limit_; }  // of a block
  cublasLtHandle_t cublas() const { return cublas_; }

  std::shared_ptr<void> allocate(size_t bytes);  // 256-byte aligned where bytes is a multiple of that
  MemoryStats memory_stats() const { return pool_.stats(); }

  // A scratch tensor on this GPU.
  Tensor empty(const Shape& shape, DType dtype);

  // Host metadata on the GPU, copied at its first use.
  const int32_t* ids(const Tensor& host) { return uploads_->get(host); }
  const int32_t* offsets(const Segments& segments) { return uploads_->get(segments); }

  void synchronize();

 private:
  explicit Context(int index);

  int index_;
  int multiprocessors_ = 0;
  size_t shared_memory_limit_ = 0;
  cudaStream_t stream_ = nullptr;
  cublasLtHandle_t cublas_ = nullptr;
  BlockPool pool_;
  std::unique_ptr<Uploads> uploads_;
};

}  // namespace gyre::cuda
