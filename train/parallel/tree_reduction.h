// Deterministic tree reduction over micro-batches (--deterministic). The tree over S micro-batches does not depend on
// the number of ranks: node [begin, end) is the sum of [begin, middle) and [middle, end), where middle - begin is the
// largest power of two below the node's size. Every rank owns a contiguous range of micro-batches and adds up the
// subtrees within it. The sums therefore have the same bits on 1 to S ranks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "gyre/core/float16.h"
#include "gyre/core/kernels/kernels.h"
#include "gyre/core/tensor.h"

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

// Adds this rank's micro-batches into the sums of its maximal subtrees. Call end_micro_batch() for each micro-batch in
// order, except for the last one. Then take() returns the sums of each bucket, once, and restart() begins anew.
class SubtreeSums {
 public:
  SubtreeSums(Kernels& kernels, int micro_batches, MicroBatchRange own);
  // `buckets`: the gradients of the micro-batch, by bucket. Changes them.
  void end_micro_batch(std::vector<Tensor> buckets);
  // The sum of each maximal subtree. `last`: the bucket's gradients of the last micro-batch, which become the last sum.
  std::vector<Tensor> take(size_t bucket, const Tensor& last);
  void restart();

 private:
  struct Part {
    MicroBatchRange node;
    std::vector<Tensor> sums;  // sums by bucket; undefined once they are taken
  };
  bool are_siblings(MicroBatchRange left, MicroBatchRange right) const;

  Kernels& kernels_;
  int micro_batches_;
  MicroBatchRange own_;
  std::vector<Part> parts_;  // parts in micro-batch order
  int next_;                 // index of this rank's next micro-batch
};

// Adds the sums of nodes of a tree in the tree's order, kChunk elements at a time, so that the data stay in the cache.
class TreeAdder {
 public:
  // inputs: nodes of the tree that do not overlap.
  explicit TreeAdder(std::vector<MicroBatchRange> inputs) : inputs_(std::move(inputs)) {}
  // Computes the sum of a node that consists of inputs. parts[i]: the n elements of input i; `out` may be one of them.
  void add(MicroBatchRange node, const std::vector<const std::byte*>& parts, int64_t n, DType comm_dtype,
           float* out) const;

 private:
  static constexpr int64_t kChunk = 2048;
  using Chunk = std::array<float, kChunk>;

  struct Operands {
    std::vector<const std::byte*> parts;
    int64_t count;
    DType comm_dtype;
  };
  void add_chunk(MicroBatchRange node, const Operands& at, float* out) const;
  const float* values_of(MicroBatchRange node, const Operands& at, Chunk& scratch) const;

  std::vector<MicroBatchRange> inputs_;
};

// Gradients on their way between ranks: arrays of the communication dtype, fp32 or bf16.
inline void pack(const float* from, int64_t n, DType comm_dtype, std::byte* to) {
  if (comm_dtype == DType::f32) {
    std::memcpy(to, from, size_t(n) * sizeof(float));
  } else {
    auto* const out = reinterpret_cast<bfloat16*>(to);
    for (int64_t i = 0; i < n; ++i) out[i] = from[i];
  }
}

inline void unpack(const std::byte* from, int64_t n, DType comm_dtype, float* to) {
  if (comm_dtype == DType::f32) {
    std::memcpy(to, from, size_t(n) * sizeof(float));
  } else {
    const auto* const in = reinterpret_cast<const bfloat16*>(from);
    for (int64_t i = 0; i < n; ++i) to[i] = float(in[i]);
  }
}

}  // namespace gyre
