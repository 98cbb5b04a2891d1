#include "gyre/train/parallel/routes.h"

#include <cstddef>
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
  MicroBatchRange run;  // micro-batches of this machine
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

Routes::Routes(Machines machines, int rank)
    : machines_(std::move(machines)), rank_(rank), machine_(machines_.machine_of(rank)) {}

std::vector<std::vector<ElementRange>> Routes::shares(const std::vector<int64_t>& ends) const {
  std::vector<std::vector<ElementRange>> shares(members().size());
  int64_t begin = 0;
  for (int rank = 0; rank < int(ends.size()); ++rank) {
    const ElementRange slice{begin, ends[size_t(rank)]};
    begin = slice.end;
    if (slice.size() > 0) shares[size_t(machines_.index_of(machines_.agent(machine_, rank)))].push_back(slice);
  }
  return shares;
}

}  // namespace gyre
