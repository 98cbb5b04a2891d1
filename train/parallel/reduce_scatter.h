// All-reduce as a reduce-scatter and an all-gather: every rank adds its slice of a range over all ranks in a fixed
// order. It then sends the sum to all other ranks, or keeps it (ZeRO stage 1, Rajbhandari et al. 2020). The
// communication dtype is fp32 or bf16. Additions are in fp32, so bf16 rounds twice, for any number of ranks.
//
// The ranks of one machine do this in shared memory (train/parallel/shared_memory/window_tasks.h). Between machines the
// slices travel in MPI messages. With several ranks on each of several machines, the ranks of a machine first add up
// their parts in shared memory. For each slice, one of them, the agent of the slice's rank, sends this sum to that
// rank, receives its total, and hands it to the others in shared memory. A slice thus crosses the network once per
// machine.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "gyre/train/parallel/async_all_reduce.h"

namespace gyre {

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

}  // namespace gyre
