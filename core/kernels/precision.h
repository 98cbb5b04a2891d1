// Precisions of computations.
#pragma once

#include <cstdint>
#include <utility>

#include "gyre/core/enum_names.h"

namespace gyre {

// Precision of activations and of matrix products. tf32 (GPUs only): activations are fp32, and matrix products round
// their operands to tf32. int8 (CPUs only, not for training): activations are fp32, and products with packed weights
// round their operands to int8 (Kernels::packed_linear).
enum class Precision : uint8_t { fp32, tf32, bf16, int8 };
template <>
inline constexpr std::pair<Precision, std::string_view> kEnumNames<Precision>[] = {
    {Precision::fp32, "fp32"}, {Precision::tf32, "tf32"}, {Precision::bf16, "bf16"}, {Precision::int8, "int8"}};

}  // namespace gyre
