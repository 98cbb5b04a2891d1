// The version of gyre, written into checkpoints and printed by `gyre --version`.
#pragma once

#include <string_view>

namespace gyre {

inline constexpr std::string_view kVersion = "0.1.0";

}  // namespace gyre
