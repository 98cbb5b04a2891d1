// Numbers of blocks per multiprocessor of the attention kernels on tensor cores, by the width of the heads. The kernels
// (core/cuda/attention) ask the compiler for as few registers per thread as that takes, and the virtual GPU
// (core/virtual_gpu) predicts the times of the kernels with the same numbers.
#pragma once

#include <cstdint>

namespace gyre {

constexpr int packed_forward_blocks(int64_t width) { return width > 64 ? 3 : 5; }
constexpr int long_forward_blocks(int64_t width) { return width > 64 ? 2 : 4; }
// As many as their shared memory allows.
constexpr int packed_backward_blocks(int64_t width) { return width > 64 ? 2 : 4; }
constexpr int backward_of_queries_blocks(int64_t width) { return width > 64 ? 2 : width > 32 ? 3 : 4; }
constexpr int backward_of_keys_blocks(int64_t width) { return width > 64 ? 2 : 3; }

}  // namespace gyre
