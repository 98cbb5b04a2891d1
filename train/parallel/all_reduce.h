// Asynchronous sums of gradient ranges over the ranks. Every rank gets the same bits. Gradients in CPU memory are
// summed by a reduce-scatter and an all-gather (below), in shared memory between the ranks of a machine. They keep both
// directions of every link busy: MPI_Iallreduce of Open MPI takes up to three times as long (tools/docs/results.md).
// Gradients on GPUs are summed through NCCL, else through a copy on the CPU. The reduce-scatter on the CPU is also used
// for GPUs in deterministic mode, and, without NCCL, for bf16 gradients and sharded sums.
#pragma once

#include <cstdint>
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
  bool sharded = false;           // every rank keeps only the sum of its own slice (shard_ends())
  bool shared_memory = true;      // ranks of a machine use it instead of messages, if they can
  // Whether all ranks receive fp32 sums, added in any order. The all-reduce of a library gives just these.
  bool is_all_reduce() const { return tree_leaves == 0 && comm_dtype == DType::f32 && !sharded; }
};

// Collective. Returns the fastest implementation that all ranks support. Keeps references. `kernels`: of the device of
// this rank's gradients. `gpus`: from connect_gpus(), null without NCCL.
std::unique_ptr<AsyncAllReduce> make_async_all_reduce(Communicator& ranks, Kernels& kernels,
                                                      const AllReduceOptions& options,
                                                      const std::shared_ptr<GpuCollectives>& gpus);

// ---- All-reduce as a reduce-scatter and an all-gather --------------------------------------------------------------
// All-reduce as a reduce-scatter and an all-gather: every rank adds its slice of a range over all ranks in a fixed
// order. It then sends the sum to all other ranks, or keeps it (ZeRO stage 1, Rajbhandari et al. 2020). The
// communication dtype is fp32 or bf16. Additions are in fp32, so bf16 rounds twice, for any number of ranks.
//
// The ranks of one machine do this in shared memory (train/parallel/window_tasks.h). Between machines the slices travel
// in MPI messages (train/parallel/routes.h). With several ranks on each of several machines, the ranks of a machine
// first add up their parts in shared memory. For each slice, one of them, the agent of the slice's rank, sends this sum
// to that rank, receives its total, and hands it to the others in shared memory. A slice thus crosses the network once
// per machine.

// The ends of the slices of n elements, one slice per rank. Slices consist of whole blocks of kSquaresBlock elements,
// except for the last block of all. `owner`: the rank whose slice is everything, or kSharedByRanks.
std::vector<int64_t> shard_ends(int64_t n, int ranks, int owner);

// The parts given to start() are the sums of this rank's maximal subtrees, or one part if the additions may have any
// order. Collective.
std::unique_ptr<AsyncAllReduce> make_reduce_scatter(Communicator& ranks, const AllReduceOptions& options);

// A range of f32 elements whose slices belong to ranks (shard_ends()).
struct ShardedRange {
  Tensor values;
  int owner = kSharedByRanks;
};

// Collective. Every rank contributes its own slice of each range and receives the slices of all other ranks.
void all_gather_shards(Communicator& ranks, const std::vector<ShardedRange>& ranges, bool shared_memory);

// Collective. Returns NCCL's collectives between the ranks, or null if a rank has no GPU of its own or no NCCL, in
// deterministic mode, on the CPU, and for a single rank. Rank 0 logs which way gradients go, and why.
std::shared_ptr<GpuCollectives> connect_gpus(Communicator& ranks, Device device, const AllReduceOptions& options);

// Sums through these collectives: by NCCL's all-reduce for fp32, else by a reduce-scatter and an all-gather, with the
// same bits as on the CPU. These take memory for the largest range between its start() and finish(): its elements in
// the communication dtype, and twice as many for bf16, apart from the rounding of its slices (shard_ends()).
std::unique_ptr<AsyncAllReduce> make_gpu_all_reduce(std::shared_ptr<GpuCollectives> gpus, int rank, int ranks,
                                                    const AllReduceOptions& options);

// Collective. Every rank contributes its own slice of each range and receives the slices of all other ranks.
void all_gather_shards(GpuCollectives& gpus, int ranks, const std::vector<ShardedRange>& ranges);

}  // namespace gyre
