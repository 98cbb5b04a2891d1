// The order of additions over the ranks: every rank contributes nodes of a tree, the ranks of a machine add them up as
// far as they are siblings, and the sums of all machines are added up to the root. If the order is free, this is a tree
// over the ranks of each machine and another one over the machines.
#pragma once

#include <vector>

#include "gyre/train/parallel/shared_memory/machines.h"
#include "gyre/train/parallel/tree_reduction.h"

namespace gyre {

class SumOrder {
 public:
  // tree_leaves: the micro-batches of the tree (train/parallel/tree_reduction.h); 0: the order is free.
  SumOrder(Machines machines, int tree_leaves);

  std::vector<MicroBatchRange> parts_of(int rank) const;    // ranges in the tree over the ranks of its machine
  std::vector<MicroBatchRange> sums_of(int machine) const;  // ranges in the same tree
  // Adds the parts of the ranks of a machine, in the order of the ranks.
  TreeAdder within(int machine) const;
  // Adds the sums of all machines, in the order of the machines.
  TreeAdder between() const;
  MicroBatchRange total() const { return {0, is_free() ? machines_.count() : leaves_}; }

 private:
  bool is_free() const { return leaves_ == 0; }

  Machines machines_;
  int leaves_;
};

}  // namespace gyre
