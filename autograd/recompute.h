// Parts of a transformer whose activations are not kept for backward, which computes them again (activation
// checkpointing, Chen et al. 2016). The gradients have the same bits.
#pragma once

#include <cstdint>

#include "gyre/core/enum_names.h"

namespace gyre {

// attention: queries, keys, values and attention of each layer, up to its output projection. block: whole layers, each
// of which keeps its input only.
enum class Recompute : uint8_t { none, attention, block };

template <>
inline constexpr std::pair<Recompute, std::string_view> kEnumNames<Recompute>[] = {
    {Recompute::none, "none"}, {Recompute::attention, "attention"}, {Recompute::block, "block"}};

}  // namespace gyre
