// All-reduce as a reduce-scatter and an all-gather: every rank receives its slice of a range from all other ranks and
// adds the slices in a fixed order. It then sends the sum to all other ranks, or keeps it (ZeRO stage 1, Rajbhandari et
// al. 2020). The communication dtype is fp32 or bf16. Additions are in fp32, so bf16 rounds twice, for any number of
// ranks.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "gyre/train/parallel/async_all_reduce.h"

namespace gyre {

// The ends of the slices of n elements, one slice per rank. Slices consist of whole blocks of kSquaresBlock elements,
// except for the last block of all. `owner`: the rank whose slice is everything, or kSharedByRanks.
std::vector<int64_t> shard_ends(int64_t n, int ranks, int owner);

struct ReduceScatterOptions {
  int micro_batches = 1;          // leaves of the reduction tree (train/parallel/tree_reduction.h)
  DType comm_dtype = DType::f32;  // or bf16
  bool sharded = false;           // every rank keeps only the sum of its own slice; the other elements are undefined
};

// The parts given to start() are the sums of this rank's maximal subtrees.
std::unique_ptr<AsyncAllReduce> make_reduce_scatter(Communicator& ranks, const ReduceScatterOptions& options);

// A range of f32 elements whose slices belong to ranks (shard_ends()).
struct ShardedRange {
  Tensor values;
  int owner = kSharedByRanks;
};

// Collective. Every rank contributes its own slice of each range and receives the slices of all other ranks.
void all_gather_shards(Communicator& ranks, const std::vector<ShardedRange>& ranges);

}  // namespace gyre
