#include "gyre/autograd/packed_weights.h"

namespace gyre {

const PackedWeight& PackedWeights::find(const Tensor& weight) {
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[{weight.raw(), weight.dim(0)}];
  if (!entry.weight) entry = {weight, kernels_.pack_weight(weight, precision_)};
  return entry.packed;
}

std::shared_ptr<PackedWeights> packed_weights_for(Kernels& kernels, Precision precision) {
  if (kernels.device() != Device{}) return nullptr;
  return std::make_shared<PackedWeights>(kernels, precision);
}

}  // namespace gyre
