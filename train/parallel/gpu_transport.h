// The choice of how the GPUs of a job exchange gradients and weights.
#pragma once

#include <memory>

#include "gyre/core/hardware/cuda.h"
#include "gyre/core/kernels/kernels.h"
#include "gyre/train/parallel/async_all_reduce.h"
#include "gyre/train/parallel/communicator.h"
#include "gyre/train/parallel/reduce_scatter.h"

namespace gyre {

// Collective. Returns NCCL's collectives between the ranks, or null if a rank has no GPU of its own or no NCCL, in
// deterministic mode, on the CPU, and for a single rank. Rank 0 logs which way gradients go, and why.
std::shared_ptr<GpuCollectives> connect_gpus(Communicator& ranks, Device device, const AllReduceOptions& options);

// Sums through these collectives (train/parallel/async_all_reduce.h): by NCCL's all-reduce for fp32, else by a
// reduce-scatter and an all-gather as in train/parallel/reduce_scatter.h, with the same bits as on the CPU. These take
// memory for the largest range between its start() and finish(): its elements in the communication dtype, and twice as
// many for bf16, apart from the rounding of its slices (shard_ends()).
std::unique_ptr<AsyncAllReduce> make_gpu_all_reduce(std::shared_ptr<GpuCollectives> gpus, int rank, int ranks,
                                                    const AllReduceOptions& options);

// Collective. Every rank contributes its own slice of each range and receives the slices of all other ranks.
void all_gather_shards(GpuCollectives& gpus, int ranks, const std::vector<ShardedRange>& ranges);

}  // namespace gyre
