// Optimizer state: one value for each element of the parameter arenas that this rank owns, or of ranges of them.
#pragma once

#include <vector>

#include "gyre/autograd/parameters.h"
#include "gyre/train/parallel/optimizer_partition.h"

namespace gyre {

class StateArena {
 public:
  StateArena() = default;
  // Creates zeros with the dtype and device of `arena` for the owned elements within `covered`, which is in ascending
  // order. Keeps a reference to `partition`.
  StateArena(const OptimizerPartition& partition, const Tensor& arena, const std::vector<ElementRange>& covered);
  StateArena(const OptimizerPartition& partition, const Tensor& arena)
      : StateArena(partition, arena, {{0, arena.size()}}) {}

  bool defined() const { return partition_ != nullptr; }
  // Matches the owned values in `range` with the same elements of a complete arena.
  struct Match {
    Tensor shard, full;
  };
  std::vector<Match> matches(ElementRange range, const Tensor& arena) const { return matches(range, arena, 0); }
  const Tensor& owned_values() const { return values_; }  // values of the ranges, one after another

  // Copies the elements from and to a complete arena. copy_to() also gets the elements that other ranks own, and is
  // then collective.
  void copy_from(const Tensor& arena) const;
  void copy_to(const Tensor& arena) const;

  // The values of a parameter, in its shape. Collective if other ranks own some of them, else a view.
  Tensor read(const Parameter& parameter) const;
  void write(const Parameter& parameter, const Tensor& values) const;

 private:
  struct Piece {
    ElementRange range;
    Tensor values;
  };
  std::vector<Piece> pieces(ElementRange range) const;
  std::vector<Match> matches(ElementRange range, const Tensor& arena, int64_t first) const;

  const OptimizerPartition* partition_ = nullptr;
  PackedRanges owned_;
  Tensor values_;
};

}  // namespace gyre
