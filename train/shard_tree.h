// The order in which shards are added with --deterministic. The tree over S shards is fixed, whatever the number of
// ranks: node [begin, end) is [begin, middle) + [middle, end), with middle - begin the largest power of two below its
// size. Every rank owns a contiguous range of shards, and adds up the nodes that lie within it. So sums have the same
// bits on 1 .. S ranks.
#pragma once

#include <span>
#include <vector>

#include "core/kernels.h"

namespace gyre {

struct ShardRange {
  int begin = 0, end = 0;
  int count() const { return end - begin; }
  bool operator==(const ShardRange&) const = default;
};

// As even as possible: the first shards % ranks ranks have one more.
ShardRange shards_of_rank(int shards, int ranks, int rank);

// Where node [begin, end) of at least two shards is split.
int tree_split(int begin, int end);
// The sum of one value per shard in the tree's order.
double tree_sum(std::span<const double> values);
// The nodes that lie within `own` and in no other such node, in order.
std::vector<ShardRange> whole_nodes(int shards, ShardRange own);

// Adds this rank's shards into the sums of its whole nodes. For each shard in order: fill `accumulator` (it is zero),
// then end_shard(), but for the last; then of each range of the accumulator take_last(), and the sums are nodes().
class ShardNodes {
 public:
  ShardNodes(Kernels& kernels, int shards, ShardRange own, Tensor accumulator);
  void end_shard();
  // The accumulator's [begin, end) is final: adds what belongs to the last shard's node.
  void take_last(int64_t begin, int64_t end);
  // Elements [begin, end) of the sum of each whole node; the last one's lie in the accumulator.
  std::vector<Tensor> sums(int64_t begin, int64_t end) const;
  void restart();
  int ended() const { return next_ - own_.begin; }  // shards

 private:
  struct Part {
    ShardRange node;
    Tensor sum;
  };
  bool are_siblings(ShardRange left, ShardRange right) const;

  Kernels& kernels_;
  int shards_;
  ShardRange own_;
  Tensor accumulator_;
  std::vector<Part> parts_;  // in shard order
  int next_;                 // this rank's next shard
};

}  // namespace gyre
