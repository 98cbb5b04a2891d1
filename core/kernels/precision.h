// Precisions of computations.
#pragma once

#include <cstdint>

namespace gyre {

// Precision of activations and of matrix products. tf32 (GPUs only): activations are fp32, and matrix products round
// their operands to tf32. int8 (CPUs only, not for training): activations are fp32, and products with packed weights
// round their operands to int8 (Kernels::packed_linear).
enum class Precision : uint8_t { fp32, tf32, bf16, int8 };

}  // namespace gyre
