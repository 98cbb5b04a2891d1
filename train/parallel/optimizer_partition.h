// The elements of the parameter arenas that a rank's optimizer updates: all of them (FullPartition), or a part of them
// (optimizer state sharding, ZeRO stage 1). With gradient sharding (ZeRO stage 2), only the gradients of this part
// exist when the optimizer runs.
#pragma once

#include <cstdint>
#include <vector>

#include "gyre/autograd/parameters.h"
#include "gyre/core/tensor.h"

namespace gyre {

struct ElementRange {  // elements [begin, end) of an arena
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
};

inline ElementRange element_range(const Parameter& p) { return {p.offset, p.offset + p.shape.elements()}; }

// A range of the arenas that one rank owns, or whose blocks are divided among the ranks.
constexpr int kSharedByRanks = -1;
struct ArenaSpan {
  ElementRange range;
  int owner = kSharedByRanks;
};

inline bool overlap(ElementRange a, ElementRange b) { return a.begin < b.end && b.begin < a.end; }
// The elements that are in ranges of both lists, which are in ascending order.
std::vector<ElementRange> intersection(const std::vector<ElementRange>& a, const std::vector<ElementRange>& b);

// Ranges of an arena, in ascending order, that are stored one after another in a smaller buffer.
class PackedRanges {
 public:
  PackedRanges() = default;
  explicit PackedRanges(std::vector<ElementRange> ranges);
  const std::vector<ElementRange>& ranges() const { return ranges_; }
  int64_t elements() const { return elements_; }
  // The position in the buffer of an element of the arena, which must be in one of the ranges.
  int64_t position(int64_t element) const;

 private:
  std::vector<ElementRange> ranges_;
  std::vector<int64_t> begins_;  // begins of the ranges in the buffer
  int64_t elements_ = 0;
};

class OptimizerPartition {
 public:
  virtual ~OptimizerPartition() = default;
  // The ranges of this rank in ascending order. Each begins and ends at a multiple of kSquaresBlock from the begin of
  // an ArenaSpan, or at the end of one. Without such spans, the arena is one.
  virtual std::vector<ElementRange> owned() const = 0;
  // Whether other ranks own elements. If not, all_gather() is never called.
  virtual bool is_sharded() const = 0;
  // With gradient sharding: the sums of the gradients, f32, of the ranges of owned() one after another (PackedRanges).
  // Undefined if the arena of gradients holds them.
  virtual Tensor packed_gradients() const { return {}; }
  // The smallest range that contains `range` and that all_gather() accepts.
  virtual ElementRange all_gather_range(ElementRange range) const = 0;
  // Collective. `window` holds elements `range` of an arena: every rank receives the elements that other ranks own.
  virtual void all_gather(const Tensor& window, ElementRange range) const = 0;
  virtual void sum(const Tensor& values) const = 0;  // collective; sums f64 values over the ranks, in place
};

// Positions of elements of this rank in the tensor of gradients: the arena, or OptimizerPartition::packed_gradients().
class GradientPositions {
 public:
  explicit GradientPositions(const OptimizerPartition& partition)
      : owned_(partition.owned()), packed_(partition.packed_gradients().defined()) {}
  int64_t position(int64_t element) const { return packed_ ? owned_.position(element) : element; }

 private:
  PackedRanges owned_;
  bool packed_;
};

// For a single process, or for ranks that all update the same elements.
class FullPartition final : public OptimizerPartition {
 public:
  explicit FullPartition(int64_t elements) : elements_(elements) {}
  std::vector<ElementRange> owned() const override { return {{0, elements_}}; }
  bool is_sharded() const override { return false; }
  ElementRange all_gather_range(ElementRange range) const override { return range; }
  void all_gather(const Tensor&, ElementRange) const override {}
  void sum(const Tensor&) const override {}

 private:
  int64_t elements_;
};

}  // namespace gyre
