// Packed weights of a model, for tapes that do not record: products need not pack them each time, and products in int8
// round them once.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "gyre/core/kernels/kernels.h"

namespace gyre {

// A weight is packed at its first use, and must not change afterwards. Thread-safe.
class PackedWeights {
 public:
  // fp32, bf16 or int8, for kernels of a CPU.
  PackedWeights(Kernels& kernels, Precision precision) : kernels_(kernels), precision_(precision) {}

  Precision precision() const { return precision_; }

  // The packed form of a weight, f32 (o,d), which may be some rows of a parameter.
  const PackedWeight& find(const Tensor& weight);

 private:
  struct Entry {
    Tensor weight;  // keeps the address from being used again
    PackedWeight packed;
  };

  Kernels& kernels_;
  Precision precision_;
  std::mutex mutex_;
  std::map<std::pair<const void*, int64_t>, Entry> entries_;  // keys: the address and the number of rows
};

// Packed weights for these kernels; null for GPUs, which read weights as they are.
std::shared_ptr<PackedWeights> packed_weights_for(Kernels& kernels, Precision precision);

}  // namespace gyre
