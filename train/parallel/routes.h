// The way of gradients between ranks: those of a machine use shared memory, and machines use messages. SumOrder says in
// which order their gradients are added, and Routes between which ranks the messages travel.
#pragma once

#include <cstdint>
#include <vector>

#include "gyre/train/parallel/optimizer_partition.h"
#include "gyre/train/parallel/shared_memory.h"
#include "gyre/train/parallel/tree_reduction.h"

namespace gyre {

// The order of additions over the ranks: every rank contributes nodes of a tree, the ranks of a machine add them up as
// far as they are siblings, and the sums of all machines are added up to the root. If the order is free, this is a tree
// over the ranks of each machine and another one over the machines.
class SumOrder {
 public:
  // tree_leaves: the micro-batches of the tree (train/parallel/tree_reduction.h); 0: the order is free.
  SumOrder(Machines machines, int tree_leaves);

  std::vector<MicroBatchRange> parts_of(int rank) const;    // nodes of the tree over the ranks of its machine
  std::vector<MicroBatchRange> sums_of(int machine) const;  // nodes of the same tree
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

// Every rank r has one agent on each machine: the rank there that sends and receives what belongs to the slice of r. On
// its own machine, r is its own agent.
class Routes {
 public:
  // `rank`: this rank.
  Routes(Machines machines, int rank);

  const Machines& machines() const { return machines_; }
  int machine() const { return machine_; }                                          // machine of this rank
  const std::vector<int>& members() const { return machines_.ranks_of(machine_); }  // the ranks of this machine
  int member() const { return machines_.index_of(rank_); }                          // index of this rank among them
  bool within_machine() const { return members().size() > 1; }                      // whether there are other members
  bool between_machines() const { return machines_.count() > 1; }
  bool one_rank_each() const { return machines_.count() == machines_.ranks(); }

  // Whether this rank sends its machine's sums of the slice of `rank`.
  bool sends_sums_to(int rank) const { return machines_.agent(machine_, rank) == rank_; }
  // The rank of a machine that sends the sums of this rank's slice.
  int sender_of(int machine) const { return machines_.agent(machine, rank_); }
  // Whether `to` receives the total of the slice of `from` from that rank.
  bool sends_total(int from, int to) const {
    return from != to && machines_.agent(machines_.machine_of(to), from) == to;
  }
  // By member: the slices of which it is the agent. `ends`: the ends of the slices of all ranks, in elements.
  std::vector<std::vector<ElementRange>> shares(const std::vector<int64_t>& ends) const;

 private:
  Machines machines_;
  int rank_, machine_;
};

}  // namespace gyre
