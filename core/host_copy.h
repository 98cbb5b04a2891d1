// HostCopy: a copy of a few numbers to the CPU that is queued now and awaited later. A GPU thus has further work queued
// when the CPU waits for them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "gyre/core/hardware/cuda.h"
#include "gyre/core/tensor.h"

namespace gyre {

class HostCopy {
 public:
  HostCopy() = default;  // empty: started() is false
  // Queues the copy of a tensor of at most kCudaReadbackBytes, on any device, after the work queued so far.
  explicit HostCopy(const Tensor& source);

  bool started() const { return source_.defined(); }
  // Waits for the copy and returns it. Throws Error if the work before the copy failed.
  Tensor wait() const;

 private:
  Tensor source_;                             // the copy itself on the CPU and on the virtual GPU
  std::shared_ptr<CudaReadback> readback_;    // the queued copy on a real GPU
  std::optional<uint64_t> virtual_readback_;  // the queued copy on the virtual GPU
};

}  // namespace gyre
