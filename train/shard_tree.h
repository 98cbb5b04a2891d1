// The order in which shards are added with --deterministic. The tree over S shards is fixed, whatever the number of
// ranks: node [begin, end) is [begin, middle) + [middle, end), with middle - begin the largest power of two below its
// size. Every rank owns a contiguous range of shards; a node belongs to the rank that owns its first shard. So sums
// have the same bits on 1 .. S ranks.
#pragma once

#include <span>
#include <vector>

#include "core/kernels.h"
#include "train/communicator.h"

namespace gyre {

struct ShardRange {
  int begin = 0, end = 0;
  int count() const { return end - begin; }
};

// As even as possible: the first shards % ranks ranks have one more.
ShardRange shards_of_rank(int shards, int ranks, int rank);
int owner_of_shard(int shards, int ranks, int shard);

// Where node [begin, end) of at least two shards is split.
int tree_split(int begin, int end);
// The sum of one value per shard in the tree's order.
double tree_sum(std::span<const double> values);

// Sums one flat f32 tensor over all shards. For each of this rank's shards in order: fill `accumulator` (it is zero),
// then add_shard(). At the end finish(): `accumulator` holds the sum on every rank.
class ShardTree {
 public:
  // Throws when there are fewer shards than ranks.
  ShardTree(Communicator& ranks, Kernels& kernels, int shards, Tensor accumulator);
  void add_shard();
  void finish();

 private:
  struct Part {  // a finished node of the tree
    int begin, end;
    Tensor sum;
  };
  int owner(int shard) const { return owner_of_shard(shards_, ranks_.size(), shard); }
  bool is_node(int begin, int end) const;
  const Tensor& part(int begin) const;
  void combine(int begin, int end);
  void receive_and_add(const Tensor& into, int from);
  void share_sum();

  Communicator& ranks_;
  Kernels& kernels_;
  int shards_;
  ShardRange own_;
  Tensor accumulator_, received_;
  std::vector<Part> parts_;  // what this rank holds, in shard order; the last may be the accumulator itself
  int next_;                 // this rank's next shard
};

}  // namespace gyre
