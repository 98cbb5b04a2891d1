// Gradients of ZeRO stage 2: a rank keeps the sums of the elements that it owns. The whole gradient of a parameter
// exists only from its first use in forward or backward until all of its buckets are on their way to their owners.
#pragma once

#include <cstdint>
#include <vector>

#include "gyre/autograd/parameters.h"
#include "gyre/core/kernels/kernels.h"
#include "gyre/train/parallel/optimizer_partition.h"

namespace gyre {

class ShardedGradients {
 public:
  // Frees the arena of gradients of the parameters, for good. `owned`: the ranges of this rank, in ascending order.
  // Keeps references.
  ShardedGradients(Kernels& kernels, Parameters& parameters, std::vector<ElementRange> owned);

  // The gradients of a range of the arenas, in one tensor. Frees the gradients of the parameters of which all elements
  // have been taken. Take each element once per backward pass.
  Tensor take(ElementRange range);

  // Adds the sums of the elements of `range`, which this rank owns. sums is (elements).
  void add(ElementRange range, const Tensor& sums) const;
  // Adds sums (n, features) to those elements of the rows of a table that this rank owns. `rows`: their indices, in
  // ascending order.
  void add_rows(const Parameter& table, const std::vector<int32_t>& rows, const Tensor& sums) const;

  // The sums of the owned ranges, one after another.
  const Tensor& sums() const { return sums_; }

 private:
  Kernels& kernels_;
  Parameters& parameters_;
  PackedRanges owned_;
  Tensor sums_;
  std::vector<int64_t> taken_;  // number of elements, by parameter
};

}  // namespace gyre
