#include "train/shard_tree.h"

#include <algorithm>
#include <bit>

#include "core/error.h"

namespace gyre {
namespace {

// Adds the nodes below [begin, end) that lie within `own`.
void add_whole_nodes(ShardRange node, ShardRange own, std::vector<ShardRange>& nodes) {
  if (node.end <= own.begin || own.end <= node.begin) return;
  if (own.begin <= node.begin && node.end <= own.end) {
    nodes.push_back(node);
    return;
  }
  const int middle = tree_split(node.begin, node.end);
  add_whole_nodes({node.begin, middle}, own, nodes);
  add_whole_nodes({middle, node.end}, own, nodes);
}

}  // namespace

ShardRange shards_of_rank(int shards, int ranks, int rank) {
  const int base = shards / ranks, extra = shards % ranks;
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

std::vector<ShardRange> whole_nodes(int shards, ShardRange own) {
  std::vector<ShardRange> nodes;
  add_whole_nodes({0, shards}, own, nodes);
  return nodes;
}

ShardNodes::ShardNodes(Kernels& kernels, int shards, ShardRange own, Tensor accumulator)
    : kernels_(kernels), shards_(shards), own_(own), accumulator_(std::move(accumulator)), next_(own.begin) {}

// Whether both make up a node.
bool ShardNodes::are_siblings(ShardRange left, ShardRange right) const {
  ShardRange node{0, shards_};
  while (node.count() > right.end - left.begin) {
    const int middle = tree_split(node.begin, node.end);
    (left.begin < middle ? node.end : node.begin) = middle;
  }
  return node == ShardRange{left.begin, right.end} && tree_split(node.begin, node.end) == right.begin;
}

void ShardNodes::end_shard() {
  Part now{{next_, next_ + 1}, accumulator_.clone()};
  ++next_;
  accumulator_.zero();
  while (!parts_.empty() && are_siblings(parts_.back().node, now.node)) {
    kernels_.add(now.sum, parts_.back().sum, now.sum);
    now.node.begin = parts_.back().node.begin;
    parts_.pop_back();
  }
  parts_.push_back(std::move(now));
}

void ShardNodes::take_last(int64_t begin, int64_t end) {
  const Tensor sum = accumulator_.slice(begin, end);
  ShardRange node{own_.end - 1, own_.end};
  for (auto part = parts_.rbegin(); part != parts_.rend() && are_siblings(part->node, node); ++part) {
    kernels_.add(sum, part->sum.slice(begin, end), sum);
    node.begin = part->node.begin;
  }
}

std::vector<Tensor> ShardNodes::sums(int64_t begin, int64_t end) const {
  std::vector<Tensor> sums;
  ShardRange node{own_.end - 1, own_.end};
  auto whole = parts_.rbegin();
  for (; whole != parts_.rend() && are_siblings(whole->node, node); ++whole) node.begin = whole->node.begin;
  for (auto part = parts_.begin(); part != whole.base(); ++part) sums.push_back(part->sum.slice(begin, end));
  sums.push_back(accumulator_.slice(begin, end));
  return sums;
}

void ShardNodes::restart() {
  parts_.clear();
  next_ = own_.begin;
}

}  // namespace gyre
