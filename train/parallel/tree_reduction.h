// Deterministic tree reduction over micro-batches (--deterministic). The tree over S micro-batches does not depend on
// the number of ranks: node [begin, end) is the sum of [begin, middle) and [middle, end), where middle - begin is the
// largest power of two below the node's size. Every rank owns a contiguous range of micro-batches and adds up the
// subtrees within it. The sums therefore have the same bits on 1 to S ranks.
#pragma once

#include <span>
#include <vector>

#include "gyre/core/kernels/kernels.h"

namespace gyre {

struct MicroBatchRange {
  int begin = 0, end = 0;
  int count() const { return end - begin; }
  bool operator==(const MicroBatchRange&) const = default;
};

// An even distribution: the first micro_batches % ranks ranks have one more than the others.
MicroBatchRange micro_batches_of_rank(int micro_batches, int ranks, int rank);

// The micro-batch at which node [begin, end), of at least two micro-batches, is split.
int tree_split(int begin, int end);
// The sum of one value per micro-batch in the tree's order.
double tree_sum(std::span<const double> values);
// The largest nodes within `own`, in order: no other node within `own` contains them.
std::vector<MicroBatchRange> maximal_subtrees(int micro_batches, MicroBatchRange own);

// Adds this rank's micro-batches into the sums of its maximal subtrees. For each micro-batch in order, add its
// gradients to `accumulator`, which is zero, and call end_micro_batch(), except after the last. Then call
// add_siblings_of_last() for each range of the accumulator; sums() returns the result.
class SubtreeSums {
 public:
  SubtreeSums(Kernels& kernels, int micro_batches, MicroBatchRange own, Tensor accumulator);
  void end_micro_batch();
  // Elements [begin, end) of the accumulator are final: adds the other parts of the subtree of the last micro-batch to
  // them.
  void add_siblings_of_last(int64_t begin, int64_t end);
  // Elements [begin, end) of the sum of each maximal subtree. The last sum is a slice of the accumulator.
  std::vector<Tensor> sums(int64_t begin, int64_t end) const;
  void restart();

 private:
  struct Part {
    MicroBatchRange node;
    Tensor sum;
  };
  bool are_siblings(MicroBatchRange left, MicroBatchRange right) const;

  Kernels& kernels_;
  int micro_batches_;
  MicroBatchRange own_;
  Tensor accumulator_;
  std::vector<Part> parts_;  // in micro-batch order
  int next_;                 // index of this rank's next micro-batch
};

}  // namespace gyre
