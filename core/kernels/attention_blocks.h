// Blocks of the attention kernels on tensor cores. Numbers of blocks per multiprocessor of the attention kernels on
// tensor cores, by the width of the heads. The kernels (core/cuda/attention) ask the compiler for as few registers per
// thread as that takes, and the virtual GPU (core/virtual_gpu) predicts the times of the kernels with the same numbers.
// Both pack segments by the same rule.
#pragma once

#include <array>
#include <cstdint>

namespace gyre {

constexpr int packed_forward_blocks(int64_t width) { return width > 64 ? 3 : 5; }
constexpr int long_forward_blocks(int64_t width) { return width > 64 ? 2 : 4; }
// As many as their shared memory allows.
constexpr int packed_backward_blocks(int64_t width) { return width > 64 ? 2 : 4; }
constexpr int backward_of_queries_blocks(int64_t width) { return width > 64 ? 2 : width > 32 ? 3 : 4; }
constexpr int backward_of_keys_blocks(int64_t width) { return width > 64 ? 2 : 3; }

// A block has one warp for each strip of rows of a tile. waiting[n]: segments that need n of its warps.
constexpr int kWarpsOfBlock = 4;
using WaitingSegments = std::array<int64_t, kWarpsOfBlock + 1>;

// Fills each block with the segment that needs the most warps, then with the largest ones that still fit. Calls
// place(warps) for each segment, and end_block(left) with the warps that get none.
template <class Place, class EndBlock>
void pack_segments(WaitingSegments waiting, const Place& place, const EndBlock& end_block) {
  for (int most = kWarpsOfBlock; most > 0; --most) {
    while (waiting[size_t(most)] > 0) {
      int left = kWarpsOfBlock;
      for (int warps = most; warps > 0; --warps) {
        for (int64_t& segments = waiting[size_t(warps)]; warps <= left && segments > 0; left -= warps, --segments)
          place(warps);
      }
      end_block(left);
    }
  }
}

}  // namespace gyre
