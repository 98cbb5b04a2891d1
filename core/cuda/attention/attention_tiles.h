// Tiles of bf16 rows for attention on tensor cores: loads into shared memory, products, stores. A block has four warps.
// Warp w processes rows 16 w .. 16 w + 15 of a tile of 64 rows. In sums of products (tensor_core.h), a lane holds rows
// g = lane / 4 and g + 8 of its warp, and of each 8 columns the columns 2 t and 2 t + 1, t = lane % 4.
#pragma once

#include "gyre/core/cuda/attention/attention_call.h"
#include "gyre/core/cuda/runtime/launch.h"
#include "gyre/core/cuda/tensor_core.h"
#include "gyre/core/cuda/vectors.h"

namespace gyre::cuda {

constexpr int kTileRows = 64, kWarpRows = 16, kTileThreads = kTileRows / kWarpRows * kWarp;

// The rows of one head in device memory, and their rotation.
struct HeadRows {
  Rows<bfloat16> rows;
  RowRotation<float> row_rotation;
  bool packs;           // rows can be moved in packs of 16 bytes
  Rows<float> exact{};  // for gradients only (GradientRows)

  HeadRows(const GradientRows<bfloat16>& gradient, const RowRotation<float>& row_rotation)
      : HeadRows(gradient.rows, row_rotation) {
    exact = gradient.exact;
  }
  HeadRows(const Rows<bfloat16>& rows, const RowRotation<float>& row_rotation)
      : rows(rows), row_rotation(row_rotation) {
    const int whole = row_rotation.interleaved ? 8 : 16;  // so that the rotated features fill whole packs
    packs = has_aligned_rows(rows.data, rows.stride) &&
            (!row_rotation.positions || (row_rotation.dims % whole == 0 && is_aligned(row_rotation.angles)));
  }
  __host__ __device__ bool requested() const { return rows.data || exact.data; }
};

// Rows in shared memory, padded by 16 bytes so that the eight rows of a matrix are in different banks.
template <int Width>
struct Tile {
  static constexpr int kStride = Width + 8;
  static constexpr int kElements = kTileRows * kStride;
  bfloat16* data;
  __device__ bfloat16* at(int row, int column) const { return data + row * kStride + column; }
};

// Buffer for the fp32 sums of one tile before they are stored. It overlays two bf16 tiles.
template <int Width>
struct StagedSums {
  static constexpr int kStride = Width + 8;
  float* data;
  __device__ explicit StagedSums(const Tile<Width>& first_of_two) : data(reinterpret_cast<float*>(first_of_two.data)) {}
  __device__ float* row(int i) const { return data + i * kStride; }
};

__device__ inline int round_up_16(int n) { return (n + 15) / 16 * 16; }

__device__ inline uint32_t pack_bf16(float low, float high) {
  const bfloat16 a(low), b(high);
  return uint32_t(a.bits) | uint32_t(b.bits) << 16;
}

// Rotates features f .. f + 7 of a row: x C + sign * partner S. `partner`: the pack with the partners, which is x
// itself for interleaved pairs.
__device__ inline void rotate_pack(float (&to)[8], const float (&x)[8], const float (&partner)[8], const float* factors,
                                   int f, const RowRotation<float>& row_rotation, float sign) {
  float c[8], s[8];
  load_numbers(c, factors + f, 8, true);
  load_numbers(s, factors + row_rotation.dims + f, 8, true);
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const float other = row_rotation.interleaved ? partner[i ^ 1] : partner[i];
    to[i] = x[i] * c[i] + sign * other * s[i];
  }
}

__device__ inline int partner_pack(const RowRotation<float>& row_rotation, int f) {
  return row_rotation.interleaved ? f : row_rotation.partner(f);
}

// Loads rows first .. first + count - 1 of a head into the tile, rotated, followed by zeros up to a multiple of 16
// rows. Copies are asynchronous: the caller needs commit_copies, wait_copies and __syncthreads before the first use.
template <int Width>
__device__ inline void load_tile(const Tile<Width>& tile, const HeadRows& from, int64_t feature, int64_t first,
                                 int count) {
  constexpr int packs = Width / 8;
  for (int e = int(threadIdx.x); e < round_up_16(count) * packs; e += kTileThreads) {
    const int i = e / packs, f = e % packs * 8;
    const bool inside = i < count;
    const int64_t row = first + (inside ? i : 0);
    const bfloat16* x = from.rows.data + row * from.rows.stride + feature;
    const bool rotates = from.row_rotation.positions && f < from.row_rotation.dims;
    if (!from.packs) {
      for (int l = f; l < f + 8; ++l) store(tile.at(i, l), inside ? from.row_rotation.rotated(x, row, l) : 0.0f);
    } else if (rotates && inside) {
      float own[8], partner[8], rotated[8];
      load_numbers(own, x + f, 8, true);
      load_numbers(partner, x + partner_pack(from.row_rotation, f), 8, true);
      rotate_pack(rotated, own, partner, from.row_rotation.factors(row), f, from.row_rotation, 1);
      store_numbers(tile.at(i, f), rotated, 8, true);
    } else {
      copy_async(tile.at(i, f), x + f, inside);
    }
  }
}

// Stores the warp's rows of sums as rows of a head: multiplied by factor[0] and factor[1] for the lane's two rows, and
// rotated back. `count`: rows in the tile.
template <int Width>
__device__ inline void store_sums(const HeadRows& to, int64_t feature, int64_t first, int count,
                                  const float (&sums)[Width / 8][4], const float (&factor)[2],
                                  const StagedSums<Width>& staged) {
  const int lane = int(threadIdx.x) % kWarp, warp_row = int(threadIdx.x) / kWarp * kWarpRows;
  const int g = lane / 4, t = lane % 4;
  if (!to.requested()) return;
#pragma unroll
  for (int n = 0; n < Width / 8; ++n) {
    for (int h = 0; h < 2; ++h) {
      *reinterpret_cast<float2*>(staged.row(warp_row + g + 8 * h) + 8 * n + 2 * t) =
          make_float2(factor[h] * sums[n][2 * h], factor[h] * sums[n][2 * h + 1]);
    }
  }
  __syncwarp();
  constexpr int packs = Width / 8;
  for (int e = lane; e < kWarpRows * packs; e += kWarp) {
    const int i = warp_row + e / packs, f = e % packs * 8;
    if (i >= count) break;
    const int64_t row = first + i;
    bfloat16* y = to.rows.data + row * to.rows.stride + feature;
    const float* dy = staged.row(i);
    for (int l = f; to.exact.data && l < f + 8; ++l) to.exact.data[row * to.exact.stride + feature + l] = dy[l];
    if (!to.rows.data) continue;
    if (!to.packs) {
      for (int l = f; l < f + 8; ++l) store(y + l, to.row_rotation.rotated_back(dy, row, l));
      continue;
    }
    float own[8];
    load_numbers(own, dy + f, 8, true);
    if (to.row_rotation.positions && f < to.row_rotation.dims) {
      float partner[8], rotated[8];
      load_numbers(partner, dy + partner_pack(to.row_rotation, f), 8, true);
      rotate_pack(rotated, own, partner, to.row_rotation.factors(row), f, to.row_rotation, -1);
      store_numbers(y + f, rotated, 8, true);
    } else {
      store_numbers(y + f, own, 8, true);
    }
  }
  __syncwarp();  // lanes leave the loop at different times, and warp operations may follow
}

// The dot products of rows of two heads, for the lane's two rows of sums of products. The warp's rows begin with row
// `first` of the batch, and `count` of them are in the tile.
template <int Width>
__device__ inline void row_dots(float (&to)[2], const HeadRows& x, const HeadRows& y, int64_t feature, int64_t first,
                                int count) {
  const int lane = int(threadIdx.x) % kWarp, row = lane / 2;  // two lanes per row
  float sum = 0;
  for (int f = lane % 2 * 8; row < count && f < Width; f += 16) {
    float of_x[8], of_y[8];
    load_numbers(of_x, x.rows.data + (first + row) * x.rows.stride + feature + f, 8, x.packs);
    load_numbers(of_y, y.rows.data + (first + row) * y.rows.stride + feature + f, 8, y.packs);
    for (int i = 0; i < 8; ++i) sum += of_x[i] * of_y[i];
  }
  sum += __shfl_xor_sync(0xFFFFFFFF, sum, 1);
  for (int h = 0; h < 2; ++h) to[h] = __shfl_sync(0xFFFFFFFF, sum, 2 * (lane / 4 + 8 * h));
}

// ---- Products ------------------------------------------------------------------------------------------------------

// sums(16, 64) = rows a_row .. a_row + 15 of a times the first n rows of b, transposed. Columns from n on, rounded up
// to a multiple of 16, are 0.
template <int Width>
__device__ inline void multiply_rows(float (&sums)[kTileRows / 8][4], const Tile<Width>& a, int a_row,
                                     const Tile<Width>& b, int n) {
  const int lane = int(threadIdx.x) % kWarp;
#pragma unroll
  for (int j = 0; j < kTileRows / 8; ++j)
    for (int c = 0; c < 4; ++c) sums[j][c] = 0;
#pragma unroll
  for (int k = 0; k < Width; k += 16) {
    uint32_t x[4];
    load_matrices(x, a.at(a_row + lane % 16, k + lane / 16 * 8));
#pragma unroll
    for (int j = 0; j < kTileRows; j += 16) {
      if (j >= n) break;
      uint32_t y[4];
      load_matrices(y, b.at(j + lane / 16 * 8 + lane % 8, k + lane / 8 % 2 * 8));
      mma_bf16(sums[j / 8], x, {y[0], y[1]});
      mma_bf16(sums[j / 8 + 1], x, {y[2], y[3]});
    }
  }
}

// sums(16, Width) += x(16, 16) times rows b_row .. b_row + 15 of b
template <int Width>
__device__ inline void add_product(float (&sums)[Width / 8][4], const uint32_t (&x)[4], const Tile<Width>& b,
                                   int b_row) {
  const int lane = int(threadIdx.x) % kWarp;
#pragma unroll
  for (int f = 0; f < Width; f += 16) {
    uint32_t y[4];
    load_matrices_transposed(y, b.at(b_row + lane % 16, f + lane / 16 * 8));
    mma_bf16(sums[f / 8], x, {y[0], y[1]});
    mma_bf16(sums[f / 8 + 1], x, {y[2], y[3]});
  }
}

// sums(16, Width) += weights(16, 64) times the first n rows of b. The weights have the layout of sums of products.
template <int Width>
__device__ inline void add_weighted(float (&sums)[Width / 8][4], const float (&weights)[kTileRows / 8][4],
                                    const Tile<Width>& b, int n) {
#pragma unroll
  for (int k = 0; k < kTileRows; k += 16) {
    if (k >= n) break;
    const auto &left = weights[k / 8], &right = weights[k / 8 + 1];
    add_product(sums,
                {pack_bf16(left[0], left[1]), pack_bf16(left[2], left[3]), pack_bf16(right[0], right[1]),
                 pack_bf16(right[2], right[3])},
                b, k);
  }
}

// sums(16, Width) += columns a_column .. a_column + 15 of the first n rows of a, transposed, times those rows of b
template <int Width>
__device__ inline void add_columns(float (&sums)[Width / 8][4], const Tile<kTileRows>& a, int a_column,
                                   const Tile<Width>& b, int n) {
  const int lane = int(threadIdx.x) % kWarp;
  for (int k = 0; k < n; k += 16) {
    uint32_t x[4];
    load_matrices_transposed(x, a.at(k + lane / 16 * 8 + lane % 8, a_column + lane / 8 % 2 * 8));
    add_product(sums, x, b, k);
  }
}

// ---- One warp's queries --------------------------------------------------------------------------------------------

// Dropout mask of a warp's 16 queries and 64 keys: the bits of the lane's own weights. Each call of the generator gives
// words for four neighboring queries, which are in four lanes. Each of these lanes generates the words for one of the
// four weights that a lane holds in 8 columns, and they exchange the bits.
struct KeptWeights {
  uint32_t bits[4];

  // True if the lane's weight c in columns 8 n .. 8 n + 7 is kept.
  __device__ bool kept(int n, int c) const { return bits[c] >> (4 * n) & 1; }

  __device__ void draw(const Scoring<float>& s, int head, int64_t first_key, int keys, int first_query) {
    const int lane = int(threadIdx.x) % kWarp, g = lane / 4, t = lane % 4, place = g % 4;
    const int64_t key = first_key + 2 * t + place % 2;
    const int query = first_query + g / 4 * 4 + place / 2 * 8;
    uint32_t drawn = 0;
    for (int n = 0; 8 * n < keys; ++n) {
      const auto words = philox(s.dropout.seed, s.dropout.stream, s.element(head, key + 8 * n, query) / 4);
      for (int i = 0; i < 4; ++i) drawn |= uint32_t(words[size_t(i)] >= s.dropout.threshold) << (4 * n + i);
    }
    for (int c = 0; c < 4; ++c) bits[c] = __shfl_sync(0xFFFFFFFF, drawn, (g - place + c) * 4 + t) >> place;
  }
};

// Maximum and sum over the four lanes that share rows.
__device__ inline float row_max(float x) {
  x = fmaxf(x, __shfl_xor_sync(0xFFFFFFFF, x, 1));
  return fmaxf(x, __shfl_xor_sync(0xFFFFFFFF, x, 2));
}
__device__ inline float row_sum(float x) {
  x += __shfl_xor_sync(0xFFFFFFFF, x, 1);
  return x + __shfl_xor_sync(0xFFFFFFFF, x, 2);
}

}  // namespace gyre::cuda
