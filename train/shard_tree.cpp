#include "train/shard_tree.h"

#include <algorithm>
#include <bit>

#include "core/error.h"

namespace gyre {
namespace {

constexpr int64_t kPiece = int64_t{1} << 18;  // floats received at a time: 1 MiB stays in the cache while it is added

}  // namespace

ShardRange shards_of_rank(int shards, int ranks, int rank) {
  const int base = shards / ranks, extra = shards % ranks;
  const int begin = rank * base + std::min(rank, extra);
  return {begin, begin + base + (rank < extra ? 1 : 0)};
}

int owner_of_shard(int shards, int ranks, int shard) {
  int rank = 0;
  while (shards_of_rank(shards, ranks, rank).end <= shard) ++rank;
  return rank;
}

int tree_split(int begin, int end) { return begin + int(std::bit_floor(unsigned(end - begin - 1))); }

double tree_sum(std::span<const double> values) {
  if (values.empty()) return 0;
  if (values.size() == 1) return values[0];
  const auto middle = size_t(tree_split(0, int(values.size())));
  return tree_sum(values.first(middle)) + tree_sum(values.subspan(middle));
}

ShardTree::ShardTree(Communicator& ranks, Kernels& kernels, int shards, Tensor accumulator)
    : ranks_(ranks), kernels_(kernels), shards_(shards), accumulator_(std::move(accumulator)) {
  require(shards >= ranks.size(), "[shards] ", shards, " shards cannot feed ", ranks.size(), " ranks: start at most ",
          shards, " ranks, or begin a new run with --shards ", ranks.size());
  own_ = shards_of_rank(shards, ranks.size(), ranks.rank());
  next_ = own_.begin;
}

bool ShardTree::is_node(int begin, int end) const {
  int b = 0, e = shards_;
  while (e - b > end - begin) {
    const int middle = tree_split(b, e);
    (begin < middle ? e : b) = middle;
  }
  return b == begin && e == end;
}

void ShardTree::add_shard() {
  Part now{next_, next_ + 1, accumulator_};
  ++next_;
  while (!parts_.empty() && is_node(parts_.back().begin, now.end)) {
    kernels_.add(now.sum, parts_.back().sum, now.sum);
    now.begin = parts_.back().begin;
    parts_.pop_back();
  }
  if (next_ < own_.end) {  // the accumulator is needed for the next shard
    now.sum = accumulator_.clone();
    accumulator_.zero();
  }
  parts_.push_back(std::move(now));
}

const Tensor& ShardTree::part(int begin) const {
  return std::find_if(parts_.begin(), parts_.end(), [&](const Part& p) { return p.begin == begin; })->sum;
}

void ShardTree::finish() {
  require(next_ == own_.end, "[shards] finish: expected ", own_.count(), " shards, got ", next_ - own_.begin);
  combine(0, shards_);
  if (ranks_.rank() == 0 && part(0).raw() != accumulator_.raw()) accumulator_.copy_from(part(0));
  if (ranks_.size() > 1) share_sum();
  parts_.clear();
  next_ = own_.begin;
}

// MPI sees the CPU's memory only.
void ShardTree::share_sum() {
  const Tensor sum = accumulator_.to_cpu();
  ranks_.broadcast(sum.span<float>(), 0);
  if (accumulator_.device() != Device{}) accumulator_.copy_from(sum);
}

// Adds up node [begin, end) where more than one rank has a part in it. Every rank walks the same tree.
void ShardTree::combine(int begin, int end) {
  if (owner(begin) == owner(end - 1)) return;  // done within its rank
  const int middle = tree_split(begin, end);
  combine(begin, middle);
  combine(middle, end);
  const int left = owner(begin), right = owner(middle);
  if (ranks_.rank() == left) {
    if (left == right) {
      kernels_.add(part(begin), part(begin), part(middle));
    } else {
      receive_and_add(part(begin), right);
    }
  } else if (ranks_.rank() == right) {
    const Tensor& sum = part(middle);
    for (int64_t at = 0; at < sum.size(); at += kPiece) {
      ranks_.send(sum.slice(at, std::min(at + kPiece, sum.size())).to_cpu().span<float>(), left);
    }
  }
}

void ShardTree::receive_and_add(const Tensor& into, int from) {
  if (!received_) received_ = Tensor::empty({std::min(kPiece, into.size())});
  for (int64_t at = 0; at < into.size(); at += kPiece) {
    const int64_t end = std::min(at + kPiece, into.size());
    const Tensor left = into.slice(at, end), right = received_.slice(0, end - at);
    ranks_.receive(right.span<float>(), from);
    kernels_.add(left, left, right.to(left.device()));
  }
}

}  // namespace gyre
