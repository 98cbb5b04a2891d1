// Numbers of the optimizer, one for each element of the parameters' arenas that this rank owns.
#pragma once

#include <vector>

#include "autograd/parameters.h"
#include "train/ownership.h"

namespace gyre {

class StateArena {
 public:
  StateArena() = default;
  // Zeros, of the arena's type and on its device. Keeps a reference to `ownership`.
  StateArena(const Ownership& ownership, const Tensor& arena);

  bool defined() const { return ownership_ != nullptr; }
  // Those of `range` that are owned, beside the same elements of a whole arena.
  struct Match {
    Tensor own, whole;
  };
  std::vector<Match> matches(ElementRange range, const Tensor& arena) const { return matches(range, arena, 0); }

  // Becomes the owned elements of an arena; and the other way round, for all elements (collective where others own
  // some).
  void copy_from(const Tensor& arena) const;
  void copy_to(const Tensor& arena) const;

  // A parameter's numbers in its shape. Collective where other ranks own some of them, else a live view.
  Tensor read(const Parameter& parameter) const;
  void write(const Parameter& parameter, const Tensor& values) const;

 private:
  std::vector<Match> matches(ElementRange range, const Tensor& arena, int64_t first) const;

  const Ownership* ownership_ = nullptr;
  std::vector<ElementRange> owned_;
  Tensor numbers_;  // of the owned ranges, one after the other
};

}  // namespace gyre
