// Tiles of bf16 rows in shared memory for the instructions of compute capability 9.0a: copies by TMA, and operands of
// products by warpgroups. Kernels that use them are in files hopper_*.cu, which are compiled for 9.0a alone. None of it
// has run on a GPU yet.
#pragma once

#include "gyre/core/cuda/hopper_instructions.h"
#include "gyre/core/float16.h"

namespace gyre::cuda {

constexpr int kWarpgroup = 128;  // threads

// Rows of bf16 in device memory, from which tiles are copied: an argument of kernels, `const __grid_constant__
// TileMap`.
struct TileMap {
  CUtensorMap map;
};

// `columns` columns of `rows` rows, whose distance is `stride` numbers. A copy reads panels of `panel` columns of
// `tile_rows` rows. data and stride must be multiples of 16 bytes. Throws Error if the driver refuses.
TileMap make_tile_map(const bfloat16* data, int64_t rows, int64_t columns, int64_t stride, int panel, int tile_rows);

// Operands of products in shared memory, as matrix descriptors (PTX ISA 9.0, section 9.7.15.5). K-major: 16 columns of
// a tile whose rows are the rows of the left or the columns of the right operand. MN-major: 16 rows of a tile whose
// columns are those of the right operand.
struct KMajorOperand {
  uint64_t bits;
};
struct MnMajorOperand {
  uint64_t bits;
};

// A tile in shared memory, at a multiple of 1,024 bytes: panels of 64 columns, or one panel of 32. The 16-byte chunks
// of a row are permuted: in a panel of 64, chunk c of row r is at place c ^ r % 8, in one of 32 at c ^ r / 2 % 4
// (swizzling modes of 128 and of 64 bytes).
template <int Rows, int Width>
struct SwizzledTile {
  static constexpr int kPanel = Width < 64 ? Width : 64;
  static constexpr int kPanelElements = Rows * kPanel;
  static constexpr int kElements = Rows * Width;
  static constexpr int kBytes = 2 * kElements;
  static_assert(Rows % 8 == 0 && (kPanel == 64 || kPanel == 32) && Width % kPanel == 0);

  bfloat16* data;

  __device__ bfloat16* at(int row, int column) const {
    const int chunk = kPanel == 64 ? column % 64 / 8 ^ row % 8 : column / 8 ^ row / 2 % 4;
    return data + column / kPanel * kPanelElements + row * kPanel + 8 * chunk + column % 8;
  }
  // Rows row, row + 1, ... and columns column .. column + 15. `row` is a multiple of 8, `column` of 16.
  __device__ KMajorOperand k_major(int row, int column) const {
    return {bits_of(data + column / kPanel * kPanelElements + row * kPanel + column % kPanel, 16)};
  }
  // Rows row .. row + 15 and all columns. `row` is a multiple of 16.
  __device__ MnMajorOperand mn_major(int row) const { return {bits_of(data + row * kPanel, 2 * kPanelElements)}; }

 private:
  // Bits 0 to 13: address, 16 to 29: distance of panels, which K-major operands ignore, 32 to 45: distance of 8 rows,
  // 62 and 63: swizzling mode, 1 for 128 and 2 for 64 bytes. Addresses and distances are in units of 16 bytes.
  __device__ static uint64_t bits_of(const bfloat16* first, int panel_bytes) {
    return uint64_t((shared_address(first) & 0x3FFFF) >> 4) | uint64_t(panel_bytes >> 4) << 16 |
           uint64_t(8 * 2 * kPanel >> 4) << 32 | uint64_t(kPanel == 64 ? 1 : 2) << 62;
  }
};

template <int Rows, int Width>
__device__ void load_tile(const SwizzledTile<Rows, Width>& to, const TileMap& from, int column, int row,
                          Barrier& barrier, Place at = Place::current()) {
  using Tile = SwizzledTile<Rows, Width>;
  for (int panel = 0; panel < Width / Tile::kPanel; ++panel) {
    load_panel(to.data + panel * Tile::kPanelElements, from.map, column + panel * Tile::kPanel, row, barrier, at);
  }
}

// multiply_async() of such operands, by a warpgroup.
template <int Chunks>
__device__ void multiply(float (&d)[Chunks][4], const KMajorOperand& a, const KMajorOperand& b, bool keep,
                         Place at = Place::current()) {
  multiply_async(d, a.bits, b.bits, keep, at);
}
template <int Chunks>
__device__ void multiply(float (&d)[Chunks][4], const uint32_t (&a)[4], const MnMajorOperand& b, bool keep,
                         Place at = Place::current()) {
  multiply_async(d, a, b.bits, keep, at);
}

}  // namespace gyre::cuda
