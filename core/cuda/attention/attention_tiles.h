// Tiles of bf16 rows in shared memory for attention on tensor cores: loads, and stores of sums. A block has four warps.
// Each warp processes 16 rows of a tile of 64 rows: a strip. Rows are moved in packs of 16 bytes
// (attention_kernels()).
#pragma once

#include "gyre/core/cuda/attention/attention_call.h"
#include "gyre/core/cuda/runtime/launch.h"
#include "gyre/core/cuda/tensor_core.h"
#include "gyre/core/cuda/vectors.h"

namespace gyre::cuda {

constexpr int kTileThreads = kTileRows / kStripRows * kWarp;

__device__ inline int lane_of_warp() { return int(threadIdx.x) % kWarp; }
__device__ inline int first_row_of_warp() { return int(threadIdx.x) / kWarp * kStripRows; }

// The rows of one head in device memory, and their rotation.
struct HeadRows {
  Rows<bfloat16> rows;
  RopeRows<float> row_rotation;
  Rows<float> exact{};  // rows of gradients only (GradientRows)

  HeadRows(const GradientRows<bfloat16>& gradient, const RopeRows<float>& row_rotation)
      : HeadRows(gradient.rows, row_rotation) {
    exact = gradient.exact;
  }
  HeadRows(const Rows<bfloat16>& rows, const RopeRows<float>& row_rotation) : rows(rows), row_rotation(row_rotation) {}
  __host__ __device__ bool requested() const { return rows.data || exact.data; }
  // Features of one row of the batch, from column `feature` on.
  __device__ bfloat16* at(int64_t row, int64_t feature) const { return rows.data + row * rows.stride + feature; }
};

// Consecutive rows of one head in device memory.
struct HeadSlice {
  const HeadRows& head;
  int64_t feature;  // first column of the head
  int64_t first;    // row of the batch
  int count;
};

// Rows in shared memory, padded by 16 bytes so that the eight rows of a matrix are in different banks.
template <int Width>
struct Tile {
  static constexpr int kStride = Width + 8;
  static constexpr int kElements = kTileRows * kStride;
  static constexpr size_t kBytes = kElements * sizeof(bfloat16);
  bfloat16* data;
  __device__ bfloat16* at(int row, int column) const { return data + row * kStride + column; }
  __device__ Tile from(int row) const { return {at(row, 0)}; }
};

// Buffer for fp32 sums before they are stored. It overlays two adjacent bf16 tiles; row 0 of the buffer is row `begin`
// of the two together. `first`: the first tile, from row `begin` on.
template <int Width>
struct StagedSums {
  static constexpr int kStride = Width + 8;
  float* data;
  __device__ explicit StagedSums(const Tile<Width>& first, int begin = 0)
      : data(reinterpret_cast<float*>(first.at(begin, 0))) {}
  __device__ float* row(int i) const { return data + i * kStride; }
};

// Rotates features f .. f + 7 of a row. `partner`: the pack with the partners, which is x itself for interleaved pairs.
template <bool back>
__device__ inline void rotate_pack(float (&to)[8], const float (&x)[8], const float (&partner)[8], const float* factors,
                                   int f, const RopeRows<float>& row_rotation) {
  float c[8], s[8];
  load_numbers(c, factors + f, 8, true);
  load_numbers(s, factors + row_rotation.dims + f, 8, true);
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    to[i] = rotated_feature<back>(x[i], row_rotation.interleaved() ? partner[i ^ 1] : partner[i], c[i], s[i]);
  }
}

__device__ inline int partner_pack(const RopeRows<float>& row_rotation, int f) {
  return row_rotation.interleaved() ? f : row_rotation.partner(f);
}

// Calls f(row, feature) for each pack of the warp's strip.
template <int Width, class F>
__device__ inline void for_each_pack(int strip, const F& f) {
  constexpr int packs = Width / 8;
#pragma unroll
  for (int step = 0; step < kStripRows * packs / kWarp; ++step) {
    const int e = step * kWarp + lane_of_warp();
    f(strip + e / packs, e % packs * 8);
  }
}

// Loads the warp's strip, rows strip .. strip + 15 of the slice, into the same rows of the tile, without rotation. Rows
// behind the slice are zeros; a strip without rows is not loaded. Copies are asynchronous: the caller needs
// commit_copies, wait_copies and a barrier before the first use.
template <int Width>
__device__ inline void copy_strip(const Tile<Width>& tile, const HeadSlice& from, int strip) {
  if (strip >= from.count) return;
  for_each_pack<Width>(strip, [&](int i, int f) {
    const bool inside = i < from.count;
    copy_async(tile.at(i, f), from.head.at(from.first + (inside ? i : 0), from.feature + f), inside);
  });
}

// copy_strip() with rotation.
template <int Width>
__device__ inline void load_strip(const Tile<Width>& tile, const HeadSlice& from, int strip) {
  const RopeRows<float>& row_rotation = from.head.row_rotation;
  if (!row_rotation.positions) return copy_strip(tile, from, strip);
  if (strip >= from.count) return;
  for_each_pack<Width>(strip, [&](int i, int f) {
    const bool inside = i < from.count;
    const int64_t row = from.first + (inside ? i : 0);
    const bfloat16* x = from.head.at(row, from.feature);
    if (inside && f < row_rotation.dims) {
      float own[8], partner[8], rotated[8];
      load_numbers(own, x + f, 8, true);
      load_numbers(partner, x + partner_pack(row_rotation, f), 8, true);
      rotate_pack<false>(rotated, own, partner, row_rotation.factors(row), f, row_rotation);
      store_numbers(tile.at(i, f), rotated, 8, true);
    } else {
      copy_async(tile.at(i, f), x + f, inside);
    }
  });
}

// Stores sums of products of the warp's strip as rows of a head, multiplied by factor[0] and factor[1] for the lane's
// two rows. The strip of `buffer` must be free: no other warp uses it.
template <int Width>
__device__ inline void store_strip(const HeadSlice& to, int strip, const float (&sums)[Width / 8][4],
                                   const float (&factor)[2], const Tile<Width>& buffer) {
  const int g = lane_of_warp() / 4, t = lane_of_warp() % 4;
  __syncwarp();  // all lanes have read the strip
#pragma unroll
  for (int n = 0; n < Width / 8; ++n) {
    for (int h = 0; h < 2; ++h) {
      *reinterpret_cast<uint32_t*>(buffer.at(strip + g + 8 * h, 8 * n + 2 * t)) =
          pack_bf16(factor[h] * sums[n][2 * h], factor[h] * sums[n][2 * h + 1]);
    }
  }
  __syncwarp();
  for_each_pack<Width>(strip, [&](int i, int f) {
    if (i < to.count)
      store_pack(to.head.at(to.first + i, to.feature + f), load_pack(buffer.at(i, f), 8, true), 8, true);
  });
}

// Stores sums of products of the warp's strip as gradients of a head: multiplied by `factor`, and rotated back before
// they are rounded. The strip of `staged` must be free.
template <int Width>
__device__ inline void store_gradients(const HeadSlice& to, int strip, const float (&sums)[Width / 8][4], float factor,
                                       const StagedSums<Width>& staged) {
  const HeadRows& head = to.head;
  const int g = lane_of_warp() / 4, t = lane_of_warp() % 4;
  if (!head.requested() || strip >= to.count) return;
  __syncwarp();
#pragma unroll
  for (int n = 0; n < Width / 8; ++n) {
    for (int h = 0; h < 2; ++h) {
      *reinterpret_cast<float2*>(staged.row(strip + g + 8 * h) + 8 * n + 2 * t) =
          make_float2(factor * sums[n][2 * h], factor * sums[n][2 * h + 1]);
    }
  }
  __syncwarp();
  constexpr int packs = Width / 8;
  for (int e = lane_of_warp(); e < kStripRows * packs; e += kWarp) {
    const int i = strip + e / packs, f = e % packs * 8;
    if (i >= to.count) break;
    const int64_t row = to.first + i;
    bfloat16* y = head.at(row, to.feature);
    const float* dy = staged.row(i);
    for (int l = f; head.exact.data && l < f + 8; ++l)
      head.exact.data[row * head.exact.stride + to.feature + l] = dy[l];
    if (!head.rows.data) continue;
    float own[8];
    load_numbers(own, dy + f, 8, true);
    if (head.row_rotation.positions && f < head.row_rotation.dims) {
      float partner[8], rotated[8];
      load_numbers(partner, dy + partner_pack(head.row_rotation, f), 8, true);
      rotate_pack<true>(rotated, own, partner, head.row_rotation.factors(row), f, head.row_rotation);
      store_numbers(y + f, rotated, 8, true);
    } else {
      store_numbers(y + f, own, 8, true);
    }
  }
  __syncwarp();  // lanes leave the loop at different times, and warp operations may follow
}

// The dot products of the rows of two slices, for the lane's two rows of the warp's strip (attention_products.h).
template <int Width>
__device__ inline void row_dots(float (&to)[2], const HeadSlice& x, const HeadSlice& y, int strip) {
  const int lane = lane_of_warp(), row = strip + lane / 2;  // two lanes per row
  float sum = 0;
  for (int f = lane % 2 * 8; row < x.count && f < Width; f += 16) {
    float of_x[8], of_y[8];
    load_numbers(of_x, x.head.at(x.first + row, x.feature + f), 8, true);
    load_numbers(of_y, y.head.at(y.first + row, y.feature + f), 8, true);
    for (int i = 0; i < 8; ++i) sum += of_x[i] * of_y[i];
  }
  sum += __shfl_xor_sync(0xFFFFFFFF, sum, 1);
  for (int h = 0; h < 2; ++h) to[h] = __shfl_sync(0xFFFFFFFF, sum, 2 * (lane / 4 + 8 * h));
}

// ---- Segments longer than a tile -----------------------------------------------------------------------------------

// Two pairs of tiles. While the block computes with one pair, the next rows are loaded into the other.
template <int Width>
struct TilePairs {
  static constexpr int kElements = 4 * Tile<Width>::kElements;
  bfloat16* data;
  __device__ Tile<Width> first(int pair) const { return {data + 2 * pair * Tile<Width>::kElements}; }
  __device__ Tile<Width> second(int pair) const { return {data + (2 * pair + 1) * Tile<Width>::kElements}; }
};

// Calls compute(pair, begin) for the tiles that begin at begin, begin + 64, .. below `end`, and before it
// load(pair, begin), one tile ahead. The first tile is loaded into pair 0 by the caller, which also commits the copies.
// Returns the pair that is free at the end.
template <class Load, class Compute>
__device__ inline int for_each_tile(int begin, int end, const Load& load, const Compute& compute) {
  int pair = 0;
  for (; begin < end; begin += kTileRows) {
    wait_copies<0>();
    __syncthreads();  // this pair is loaded, the other one has been read
    if (begin + kTileRows < end) {
      load(pair ^ 1, begin + kTileRows);
      commit_copies();
    }
    compute(pair, begin);
    pair ^= 1;
  }
  wait_copies<0>();  // if there was no tile
  return pair;
}

}  // namespace gyre::cuda
