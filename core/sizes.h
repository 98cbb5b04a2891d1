// Bounds of what a user may ask for, in options and in files: beyond them is a slip.
#pragma once

#include <cstdint>

namespace gyre {

inline constexpr int64_t kLargestSize = 10'000'000;  // of a model, a vocabulary, a table
inline constexpr int64_t kMostLayers = 1000;
inline constexpr int kMostThreads = 1024;  // of one process

}  // namespace gyre
