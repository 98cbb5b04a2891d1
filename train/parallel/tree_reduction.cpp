#include "gyre/train/parallel/tree_reduction.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "gyre/core/error.h"

namespace gyre {
namespace {

// Appends the maximal subtrees of `node` within `own` to `nodes`.
void add_maximal_subtrees(MicroBatchRange node, MicroBatchRange own, std::vector<MicroBatchRange>& nodes) {
  if (node.end <= own.begin || own.end <= node.begin) return;
  if (own.begin <= node.begin && node.end <= own.end) {
    nodes.push_back(node);
    return;
  }
  const int middle = tree_split(node.begin, node.end);
  add_maximal_subtrees({node.begin, middle}, own, nodes);
  add_maximal_subtrees({middle, node.end}, own, nodes);
}

}  // namespace

MicroBatchRange micro_batches_of_rank(int micro_batches, int ranks, int rank) {
  const int base = micro_batches / ranks, extra = micro_batches % ranks;
  const int begin = rank * base + std::min(rank, extra);
  return {begin, begin + base + (rank < extra ? 1 : 0)};
}

int tree_split(int begin, int end) { return begin + int(std::bit_floor(unsigned(end - begin - 1))); }

double tree_sum(std::span<const double> values) {
  if (values.empty()) return 0;
  if (values.size() == 1) return values[0];
  const auto middle = size_t(tree_split(0, int(values.size())));
  return tree_sum(values.first(middle)) + tree_sum(values.subspan(middle));
}

std::vector<MicroBatchRange> maximal_subtrees(int micro_batches, MicroBatchRange own) {
  std::vector<MicroBatchRange> nodes;
  add_maximal_subtrees({0, micro_batches}, own, nodes);
  return nodes;
}

SubtreeSums::SubtreeSums(Kernels& kernels, int micro_batches, MicroBatchRange own)
    : kernels_(kernels), micro_batches_(micro_batches), own_(own), next_(own.begin) {}

// Whether the two ranges are the children of one node.
bool SubtreeSums::are_siblings(MicroBatchRange left, MicroBatchRange right) const {
  MicroBatchRange node{0, micro_batches_};
  while (node.count() > right.end - left.begin) {
    const int middle = tree_split(node.begin, node.end);
    (left.begin < middle ? node.end : node.begin) = middle;
  }
  return node == MicroBatchRange{left.begin, right.end} && tree_split(node.begin, node.end) == right.begin;
}

void SubtreeSums::end_micro_batch(std::vector<Tensor> buckets) {
  Part now{{next_, next_ + 1}, std::move(buckets)};
  ++next_;
  while (!parts_.empty() && are_siblings(parts_.back().node, now.node)) {
    const Part& left = parts_.back();
    for (size_t i = 0; i < now.sums.size(); ++i) kernels_.add(now.sums[i], left.sums[i], now.sums[i]);
    now.node.begin = left.node.begin;
    parts_.pop_back();
  }
  parts_.push_back(std::move(now));
}

std::vector<Tensor> SubtreeSums::take(size_t bucket, const Tensor& last) {
  MicroBatchRange node{own_.end - 1, own_.end};
  auto whole = parts_.rbegin();
  for (; whole != parts_.rend() && are_siblings(whole->node, node); ++whole) {
    kernels_.add(last, std::exchange(whole->sums[bucket], {}), last);
    node.begin = whole->node.begin;
  }
  std::vector<Tensor> sums;
  for (auto part = parts_.begin(); part != whole.base(); ++part) sums.push_back(std::move(part->sums[bucket]));
  sums.push_back(last);
  return sums;
}

void SubtreeSums::restart() {
  parts_.clear();
  next_ = own_.begin;
}

}  // namespace gyre
