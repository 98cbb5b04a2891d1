// Sums over the ranks by slices: every rank gets its own slice of a range from all others, adds the slices in a fixed
// order, and hands the sum to all others, or keeps it (ZeRO stage 1, Rajbhandari et al. 2020). What travels is fp32 or
// bf16; sums are made in fp32, so bf16 rounds twice, whatever the number of ranks.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "train/range_sum.h"

namespace gyre {

// Where the slices of n elements end, one for each rank. They are made of whole blocks (kSquaresBlock) but for the
// last.
std::vector<int64_t> slice_ends(int64_t n, int ranks);

struct SliceSumOptions {
  int shards = 1;           // the leaves of the tree in which is added (train/shard_tree.h)
  DType wire = DType::f32;  // or bf16
  bool sharded = false;     // every rank keeps the sum of its own slice; of the rest nothing is known
};

// Of contributions that are the sums of a rank's whole nodes.
std::unique_ptr<RangeSum> make_slice_sum(Communicator& ranks, const SliceSumOptions& options);

// Collective. Gives every rank all slices of the f32 ranges: each rank has its own.
void share_slices(Communicator& ranks, const std::vector<Tensor>& ranges);

}  // namespace gyre
