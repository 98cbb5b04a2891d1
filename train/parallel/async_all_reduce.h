// Asynchronous sums of gradient ranges over the ranks. Every rank gets the same bits. Gradients in CPU memory are
// summed by a reduce-scatter and an all-gather (train/parallel/reduce_scatter.h), in shared memory between the ranks of
// a machine. They keep both directions of every link busy: MPI_Iallreduce of Open MPI takes up to three times as long
// (tools/docs/results.md). Gradients on GPUs are
// summed through NCCL, else by a GPU-aware MPI, else through a copy on the CPU. The reduce-scatter on the CPU is also
// used for GPUs in deterministic mode, and, without NCCL, for bf16 gradients and sharded sums.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "gyre/core/hardware/cuda.h"
#include "gyre/core/kernels/kernels.h"
#include "gyre/core/tensor.h"
#include "gyre/train/parallel/communicator.h"
#include "gyre/train/parallel/optimizer_partition.h"

namespace gyre {

class AsyncAllReduce {
 public:
  virtual ~AsyncAllReduce() = default;
  // Starts the sum of a range. `parts`: this rank's contributions, f32 tensors of the range's size; the last one
  // receives the sum. `owner`: the rank that keeps all of a sharded sum, or kSharedByRanks. The caller must not access
  // the parts before finish() returns. Every rank makes the same calls in the same order.
  virtual void start(const std::vector<Tensor>& parts, int owner) = 0;
  virtual void progress() {}  // advances the started sums
  virtual void finish() = 0;
};

struct AllReduceOptions {
  // 0: the additions have any order. Otherwise, the number of leaves of the tree that fixes their order
  // (train/parallel/tree_reduction.h); the parts are then the sums of this rank's maximal subtrees.
  int tree_leaves = 0;
  DType comm_dtype = DType::f32;  // dtype of the messages: f32 or bf16
  bool sharded = false;           // every rank keeps only the sum of its own slice: train/parallel/reduce_scatter.h
  bool shared_memory = true;      // ranks of a machine use it instead of messages, if they can
  // Whether all ranks receive fp32 sums, added in any order. The all-reduce of a library gives just these.
  bool is_all_reduce() const { return tree_leaves == 0 && comm_dtype == DType::f32 && !sharded; }
};

// Parses a value of --gradient-dtype: "fp32" or "bf16".
inline DType parse_comm_dtype(std::string_view name) { return name == "bf16" ? DType::bf16 : DType::f32; }

// Whether MPI adds the gradients of GPUs in GPU memory if NCCL does not.
inline bool mpi_adds_on_gpus(const Communicator& ranks, const AllReduceOptions& options) {
  return options.is_all_reduce() && ranks.takes_gpu_memory();
}

// Collective. Returns the fastest implementation that all ranks support. Keeps references. `kernels`: of the device of
// this rank's gradients. `gpus`: from connect_gpus() (train/parallel/gpu_transport.h), null without NCCL.
std::unique_ptr<AsyncAllReduce> make_async_all_reduce(Communicator& ranks, Kernels& kernels,
                                                      const AllReduceOptions& options,
                                                      const std::shared_ptr<GpuCollectives>& gpus);

}  // namespace gyre
