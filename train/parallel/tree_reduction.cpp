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

void TreeAdder::add(MicroBatchRange node, const std::vector<const std::byte*>& parts, int64_t n, DType comm_dtype,
                    float* out) const {
  Operands at{parts, 0, comm_dtype};
  for (int64_t done = 0; done < n; done += at.count) {
    at.count = std::min(kChunk, n - done);
    add_chunk(node, at, out + done);
    for (const std::byte*& part : at.parts) part += at.count * int64_t(dtype_bytes(comm_dtype));
  }
}

// Writes to `out` last, because it may be an operand.
void TreeAdder::add_chunk(MicroBatchRange node, const Operands& at, float* out) const {
  const auto input = std::find(inputs_.begin(), inputs_.end(), node);
  if (input != inputs_.end()) {
    const std::byte* const part = at.parts[size_t(input - inputs_.begin())];
    if (part != reinterpret_cast<const std::byte*>(out)) unpack(part, at.count, at.comm_dtype, out);
    return;
  }
  const int middle = tree_split(node.begin, node.end);
  Chunk left_scratch, right_scratch;
  const float* const left = values_of({node.begin, middle}, at, left_scratch);
  const float* const right = values_of({middle, node.end}, at, right_scratch);
  for (int64_t i = 0; i < at.count; ++i) out[i] = left[i] + right[i];
}

// Where the values of a node are: the input itself if it is fp32, else in `scratch`, which receives them.
const float* TreeAdder::values_of(MicroBatchRange node, const Operands& at, Chunk& scratch) const {
  const auto input = std::find(inputs_.begin(), inputs_.end(), node);
  if (at.comm_dtype == DType::f32 && input != inputs_.end())
    return reinterpret_cast<const float*>(at.parts[size_t(input - inputs_.begin())]);
  add_chunk(node, at, scratch.data());
  return scratch.data();
}

}  // namespace gyre
