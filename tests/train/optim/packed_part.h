// A partition with packed gradients, as a rank has it with ZeRO stage 2, but without other ranks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "gyre/autograd/parameters.h"
#include "gyre/train/parallel/optimizer_partition.h"

namespace gyre::test {

// Owns the elements from `first` on. Gathered elements of others are zero.
class PackedPart final : public OptimizerPartition {
 public:
  PackedPart(const Parameters& parameters, int64_t first) : owned_{first, parameters.values().size()} {
    const Tensor values = parameters.values();
    gradients_ = Tensor::zeros({owned_.size()}, values.dtype(), values.device());
  }

  std::vector<ElementRange> owned() const override { return {owned_}; }
  bool is_sharded() const override { return true; }
  Tensor packed_gradients() const override { return gradients_; }
  ElementRange all_gather_range(ElementRange range) const override { return range; }
  void all_gather(const Tensor& window, ElementRange range) const override {
    const int64_t others = std::clamp<int64_t>(owned_.begin - range.begin, 0, range.size());
    window.slice(0, others).zero();
  }
  void sum(const Tensor&) const override {}

  // The gradient of a parameter that this part owns; undefined for others.
  Tensor gradient(const Parameter& p) const {
    if (p.offset < owned_.begin) return {};
    const int64_t begin = p.offset - owned_.begin;
    return gradients_.slice(begin, begin + p.shape.elements()).reshape(p.shape);
  }

 private:
  ElementRange owned_;
  Tensor gradients_;
};

}  // namespace gyre::test
