// Upper bounds of sizes in options and files. A larger value is rejected as a mistake.
#pragma once

#include <cstdint>

namespace gyre {

inline constexpr int64_t kMaxDimension = 10'000'000;  // limit of any dimension of a model, and of a vocabulary
inline constexpr int64_t kMaxLayers = 1000;
inline constexpr int kMaxThreads = 1024;  // limit per process

}  // namespace gyre
