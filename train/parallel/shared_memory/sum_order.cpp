#include "gyre/train/parallel/shared_memory/sum_order.h"

#include <utility>

namespace gyre {
namespace {

void append(std::vector<MicroBatchRange>& nodes, const std::vector<MicroBatchRange>& more) {
  nodes.insert(nodes.end(), more.begin(), more.end());
}

}  // namespace

SumOrder::SumOrder(Machines machines, int tree_leaves) : machines_(std::move(machines)), leaves_(tree_leaves) {}

std::vector<MicroBatchRange> SumOrder::parts_of(int rank) const {
  const int index = machines_.index_of(rank);
  if (is_free()) return {{index, index + 1}};
  return maximal_subtrees(leaves_, micro_batches_of_rank(leaves_, machines_.ranks(), rank));
}

std::vector<MicroBatchRange> SumOrder::sums_of(int machine) const {
  const std::vector<int>& ranks = machines_.ranks_of(machine);
  if (is_free()) return {{0, int(ranks.size())}};
  std::vector<MicroBatchRange> sums;
  MicroBatchRange run;  // range of micro-batches of this machine
  for (const int rank : ranks) {
    const MicroBatchRange own = micro_batches_of_rank(leaves_, machines_.ranks(), rank);
    if (own.begin != run.end) {
      append(sums, maximal_subtrees(leaves_, run));
      run.begin = own.begin;
    }
    run.end = own.end;
  }
  append(sums, maximal_subtrees(leaves_, run));
  return sums;
}

TreeAdder SumOrder::within(int machine) const {
  std::vector<MicroBatchRange> parts;
  for (const int rank : machines_.ranks_of(machine)) append(parts, parts_of(rank));
  return TreeAdder(std::move(parts));
}

TreeAdder SumOrder::between() const {
  std::vector<MicroBatchRange> sums;
  for (int machine = 0; machine < machines_.count(); ++machine)
    append(sums, is_free() ? std::vector<MicroBatchRange>{{machine, machine + 1}} : sums_of(machine));
  return TreeAdder(std::move(sums));
}

}  // namespace gyre
