// The sums of squares of a gradient arena, for its norm.
#pragma once

#include <vector>

#include "gyre/core/kernels/kernels.h"
#include "gyre/train/parallel/optimizer_partition.h"

namespace gyre {

// Sums by block of kSquaresBlock elements. The blocks start anew at each run of the arena, so that they are the same
// for any ownership, and are added in the same order.
class GradientSquares {
 public:
  // `runs` cover the arena, in ascending order. Keeps a reference to `partition`.
  GradientSquares(const std::vector<ElementRange>& runs, const OptimizerPartition& partition, Device device);

  // The sums of all blocks, f64, of an arena, or of OptimizerPartition::packed_gradients() if they are defined.
  // Collective if ranks own parts of the gradients.
  const Tensor& compute(Kernels& kernels, const Tensor& gradients) const;

 private:
  struct Part {          // an owned range within a run
    ElementRange range;  // range in the tensor of gradients
    int64_t first_block;
  };
  std::vector<Part> parts_;
  const OptimizerPartition& partition_;
  Tensor sums_;
};

}  // namespace gyre
