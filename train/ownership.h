// Which elements of the parameters' arenas a rank's optimizer works on: all of them, or its share (ZeRO stage 1).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/tensor.h"

namespace gyre {

struct ElementRange {  // of an arena
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
};

class Ownership {
 public:
  virtual ~Ownership() = default;
  // In order; they end at multiples of kSquaresBlock, or at the end of the arena.
  virtual std::vector<ElementRange> owned() const = 0;
  // Whether other ranks own something. If not, none of the following is called.
  virtual bool is_shared() const = 0;
  // The smallest range around this one that share() takes.
  virtual ElementRange shareable(ElementRange range) const = 0;
  // Collective: of elements `range` of an arena, which `window` holds, every rank gets what others own.
  virtual void share(const Tensor& window, ElementRange range) const = 0;
  virtual void sum(std::span<double> values) const = 0;  // collective: over the ranks
};

// Of a single process, or of ranks that all do the same.
class WholeOwnership final : public Ownership {
 public:
  explicit WholeOwnership(int64_t elements) : elements_(elements) {}
  std::vector<ElementRange> owned() const override { return {{0, elements_}}; }
  bool is_shared() const override { return false; }
  ElementRange shareable(ElementRange range) const override { return range; }
  void share(const Tensor&, ElementRange) const override {}
  void sum(std::span<double>) const override {}

 private:
  int64_t elements_;
};

}  // namespace gyre
