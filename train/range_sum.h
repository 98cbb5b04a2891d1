// Sums of ranges of the gradients over the ranks, in the background: by MPI in the CPU's memory; between GPUs by NCCL,
// else by an MPI that takes their memory, else by way of the CPU.
#pragma once

#include <memory>

#include "core/tensor.h"
#include "train/communicator.h"

namespace gyre {

class RangeSum {
 public:
  virtual ~RangeSum() = default;
  // In place, of f32: `values` must not be touched before finish(). Every rank makes the same calls in the same order,
  // and gets the same bits.
  virtual void start(const Tensor& values) = 0;
  virtual void progress() {}  // moves what is under way along
  virtual void finish() = 0;
};

// Collective. The fastest that all ranks can use for tensors on this device, which each names for itself.
std::unique_ptr<RangeSum> make_range_sum(Communicator& ranks, Device device);

}  // namespace gyre
