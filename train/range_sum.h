// Sums of ranges of the gradients over the ranks, in the background, the same bits on every rank. In the CPU's memory
// by slices (train/slice_sum.h), which keeps both directions of every link busy: Open MPI's own MPI_Iallreduce takes up
// to three times as long (tools/bench/RESULTS.md). Between GPUs by NCCL, else by an MPI that takes their memory, else
// by way of the CPU; by slices too where the order of the additions, the type that travels or the owner of the sum
// matters.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "core/tensor.h"
#include "train/communicator.h"

namespace gyre {

class RangeSum {
 public:
  virtual ~RangeSum() = default;
  // What this rank brings to the sum of a range, f32 of the same size each; the last of them becomes the sum. None must
  // be touched before finish(). Every rank makes the same calls in the same order.
  virtual void start(const std::vector<Tensor>& parts) = 0;
  virtual void progress() {}  // moves what is under way along
  virtual void finish() = 0;
};

struct SumOptions {
  // 0: any order. Else the sums of the whole nodes of this rank's shards are given, of a tree with so many leaves, and
  // its order decides.
  int tree_shards = 0;
  DType wire = DType::f32;  // or bf16
  bool sharded = false;     // every rank keeps the sum of its own slice: train/slice_sum.h
};

// Of --gradient-dtype: "fp32" or "bf16".
inline DType wire_type(std::string_view name) { return name == "bf16" ? DType::bf16 : DType::f32; }

// Collective. The fastest that all ranks can use for tensors on this device, which each names for itself.
std::unique_ptr<RangeSum> make_range_sum(Communicator& ranks, Device device, const SumOptions& options);

}  // namespace gyre
