#include "gyre/train/optim/gradient_squares.h"

namespace gyre {

GradientSquares::GradientSquares(const std::vector<ElementRange>& runs, const OptimizerPartition& partition,
                                 Device device)
    : partition_(partition) {
  const std::vector<ElementRange> owned = partition.owned();
  const GradientPositions gradients(partition);
  int64_t blocks = 0;
  for (const ElementRange& run : runs) {
    for (const ElementRange& range : intersection({run}, owned)) {
      const int64_t begin = gradients.position(range.begin);
      parts_.push_back({{begin, begin + range.size()}, blocks + (range.begin - run.begin) / kSquaresBlock});
    }
    blocks += squares_blocks(run.size());
  }
  sums_ = Tensor::zeros({blocks}, DType::f64, device);
}

const Tensor& GradientSquares::compute(Kernels& kernels, const Tensor& gradients) const {
  if (partition_.is_sharded()) sums_.zero();
  for (const auto& [range, first] : parts_) {
    kernels.block_square_sums(sums_.slice(first, first + squares_blocks(range.size())),
                              gradients.slice(range.begin, range.end));
  }
  if (partition_.is_sharded()) partition_.sum(sums_);
  return sums_;
}

}  // namespace gyre
