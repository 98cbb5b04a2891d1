// Blocks and teams of the CUDA kernels, for the kernels (core/cuda) and for the virtual GPU (core/virtual_gpu).
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "gyre/core/kernels/arguments.h"

namespace gyre {

// The elements of a pack, which a thread loads and stores together: 16 bytes, but at least as many as the random words
// that a Philox block gives to dropout.
constexpr int pack_size(size_t element_bytes) { return element_bytes > 4 ? 4 : 16 / int(element_bytes); }

// Blocks of the kernels that sum the columns of a matrix (core/cuda/columns.h): there are `rows` times `columns` blocks
// of `across` times `down` threads. A thread sums at most `rows_each` rows.
struct ColumnBlocks {
  int64_t rows, columns;
  int64_t across, down;
  int64_t rows_each;
};

// The blocks for a matrix whose rows have `packs` packs of neighboring columns, each of one thread. They depend only on
// the shape of the matrix, so that the order of sums is fixed.
constexpr ColumnBlocks column_blocks(int64_t rows, int64_t packs) {
  constexpr int64_t kThreads = 256, kWarp = 32, kManyBlocks = 1024;
  const auto divide_up = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
  if (rows == 0 || packs == 0) return {0, 1, 1, 1, 1};
  const int64_t columns = divide_up(packs, kThreads), each = divide_up(packs, columns);
  const int64_t across = each < kWarp ? int64_t(std::bit_ceil(uint64_t(each))) : divide_up(each, kWarp) * kWarp;
  const int64_t down = kThreads / across;
  int64_t rows_each = 32;
  while (rows_each > 4 && divide_up(rows, down * rows_each) * columns < kManyBlocks) rows_each /= 2;
  return {divide_up(rows, down * rows_each), columns, across, down, rows_each};
}

// Blocks of the sum of all elements (core/cuda/elementary.cu), for this number of packs.
constexpr int64_t sum_blocks(int64_t packs) { return std::min<int64_t>(1024, (packs + 255) / 256); }

// Teams of the kernels of layer norm (core/cuda/layer_norm.cu). A team of `warps` warps processes a row. Each thread
// holds `parts` packs of it.
struct NormTeam {
  int warps, parts;
  // The packs of a row that a thread of each warp can hold together.
  constexpr int64_t capacity() const { return int64_t(warps) * parts; }
  // The teams of a block, which has at least 8 warps.
  constexpr int64_t teams() const { return warps < 8 ? 8 / warps : 1; }
};

// From narrow to wide rows. Backward holds more numbers of each element: with three parts it would spill registers.
inline constexpr auto kNormTeams =
    std::to_array<NormTeam>({{1, 1}, {1, 2}, {1, 3}, {1, 4}, {4, 2}, {8, 2}, {16, 2}, {32, 4}});
inline constexpr auto kNormBackwardTeams =
    std::to_array<NormTeam>({{1, 1}, {1, 2}, {2, 2}, {4, 2}, {8, 2}, {16, 2}, {32, 4}});

// The index of the narrowest team for rows of d elements in packs of `pack` elements; teams.size() if no team is wide
// enough.
template <size_t N>
constexpr size_t norm_team(const std::array<NormTeam, N>& teams, int64_t d, int64_t pack) {
  constexpr int64_t kWarp = 32;
  size_t i = 0;
  while (i < N && teams[i].capacity() * kWarp * pack < d) ++i;
  return i;
}

// The blocks of the backward pass: enough to fill a large GPU. Their number, and with it the order of sums, depends
// only on the rows.
constexpr int64_t norm_gradient_blocks(int64_t rows, int64_t teams) {
  return std::min<int64_t>(528, (rows + teams - 1) / teams);
}

// The number of vectors that each block of the backward pass sums: those of gamma and beta come together, that of the
// bias comes with both.
constexpr int norm_gradient_sums(bool parameters, bool bias) { return bias ? 3 : parameters ? 2 : 0; }

// Numbers of blocks per multiprocessor of the attention kernels on tensor cores, by the width of the heads. The kernels
// (core/cuda/attention) ask the compiler for as few registers per thread as that takes, and the virtual GPU predicts
// the times of the kernels with the same numbers.
constexpr int packed_forward_blocks(int64_t width) { return width > 64 ? 3 : 5; }
constexpr int long_forward_blocks(int64_t width) { return width > 64 ? 2 : 4; }
// As many as their shared memory allows.
constexpr int packed_backward_blocks(int64_t width) { return width > 64 ? 2 : 4; }
constexpr int backward_of_queries_blocks(int64_t width) { return width > 64 ? 2 : width > 32 ? 3 : 4; }
constexpr int backward_of_keys_blocks(int64_t width) { return width > 64 ? 2 : 3; }

// Attention on tensor cores: bf16 heads of these widths.
constexpr bool has_tensor_width(int64_t width) { return width == 32 || width == 64 || width == 128; }

// A block of these kernels processes tiles of rows; each of its warps has a strip of them. waiting[n]: segments that
// need n of its warps.
constexpr int kTileRows = 64, kStripRows = 16, kWarpsOfBlock = kTileRows / kStripRows;
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

// Attention on tensor cores moves packs of 8 features. True if each pack consists of rotated features, whose partners
// are a pack too, or of others.
inline bool rotates_whole_packs(const RopeShape& rotary) { return rotary.dims % (rotary.interleaved() ? 8 : 16) == 0; }
// True if queries and keys are to be rotated once, before these kernels: when those have tiles of long segments, which
// several blocks load.
inline bool rotates_first(const AttentionCall& call) { return call.angles && call.longest() > kTileRows; }

// Whether the block that replaces a row of v logits by their gradients can keep it in shared memory, of which GPUs of
// compute capability 8.0 and later have at least this much per block. Two blocks run side by side on a multiprocessor
// with twice as much. Rows must start at multiples of 16 bytes.
inline bool keeps_row(const Tensor& logits, int64_t v) {
  const auto bytes = int64_t(dtype_bytes(logits.dtype()));
  return v * bytes <= 96 << 10 && logits.cols() * bytes % 16 == 0;
}

}  // namespace gyre
