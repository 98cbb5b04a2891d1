// Products of tiles for attention on tensor cores, and the dropout of weights. In sums of products (tensor_core.h), a
// lane holds rows g = lane / 4 and g + 8 of its warp's strip, and of each 8 columns the columns 2 t and 2 t + 1,
// t = lane % 4: element c of columns 8 n .. 8 n + 7 is in row g + 8 (c / 2), column 8 n + 2 t + c % 2.
#pragma once

#include "gyre/core/cuda/attention/attention_tiles.h"

namespace gyre::cuda {

// A strip of a tile as the left operand of products, loaded anew for each product.
template <int Width>
struct StripInTile {
  Tile<Width> tile;
  int row;
  // The columns k .. k + 15.
  __device__ void get(uint32_t (&to)[4], int k) const {
    load_matrices(to, tile.at(row + lane_of_warp() % 16, k + lane_of_warp() / 16 * 8));
  }
};

// The same in registers, for many products.
template <int Width>
struct StripInRegisters {
  uint32_t x[Width / 16][4];

  __device__ StripInRegisters(const Tile<Width>& tile, int row) {
#pragma unroll
    for (int k = 0; k < Width; k += 16) StripInTile<Width>{tile, row}.get(x[k / 16], k);
  }
  __device__ void get(uint32_t (&to)[4], int k) const {
    for (int i = 0; i < 4; ++i) to[i] = x[k / 16][i];
  }
};

// sums(16, Columns) = a(16, Width) times rows b_row .. b_row + n - 1 of b, transposed. Columns from n on, rounded up to
// a multiple of 16, are 0.
template <int Width, int Chunks, class Strip>
__device__ inline void multiply_rows(float (&sums)[Chunks][4], const Strip& a, const Tile<Width>& b, int b_row, int n) {
  const int lane = lane_of_warp();
#pragma unroll
  for (int j = 0; j < Chunks; ++j)
    for (int c = 0; c < 4; ++c) sums[j][c] = 0;
#pragma unroll
  for (int k = 0; k < Width; k += 16) {
    uint32_t x[4];
    a.get(x, k);
#pragma unroll
    for (int j = 0; j < 8 * Chunks; j += 16) {
      if (j >= n) break;
      uint32_t y[4];
      load_matrices(y, b.at(b_row + j + lane / 16 * 8 + lane % 8, k + lane / 8 % 2 * 8));
      mma_bf16(sums[j / 8], x, {y[0], y[1]});
      mma_bf16(sums[j / 8 + 1], x, {y[2], y[3]});
    }
  }
}

// sums(16, Width) += x(16, 16) times rows b_row .. b_row + 15 of b
template <int Width>
__device__ inline void add_product(float (&sums)[Width / 8][4], const uint32_t (&x)[4], const Tile<Width>& b,
                                   int b_row) {
  const int lane = lane_of_warp();
#pragma unroll
  for (int f = 0; f < Width; f += 16) {
    uint32_t y[4];
    load_matrices_transposed(y, b.at(b_row + lane % 16, f + lane / 16 * 8));
    mma_bf16(sums[f / 8], x, {y[0], y[1]});
    mma_bf16(sums[f / 8 + 1], x, {y[2], y[3]});
  }
}

// sums(16, Width) += weights(16, n) times rows b_row .. b_row + n - 1 of b. The weights have the layout of sums of
// products; they must be 0 from n on, up to a multiple of 16.
template <int Width, int Chunks>
__device__ inline void add_weighted(float (&sums)[Width / 8][4], const float (&weights)[Chunks][4],
                                    const Tile<Width>& b, int b_row, int n) {
#pragma unroll
  for (int k = 0; k < 8 * Chunks; k += 16) {
    if (k >= n) break;
    const auto &left = weights[k / 8], &right = weights[k / 8 + 1];
    add_product(sums,
                {pack_bf16(left[0], left[1]), pack_bf16(left[2], left[3]), pack_bf16(right[0], right[1]),
                 pack_bf16(right[2], right[3])},
                b, b_row + k);
  }
}

// sums(16, Width) += columns a_column .. a_column + 15 of the first n rows of a, transposed, times those rows of b
template <int Width>
__device__ inline void add_columns(float (&sums)[Width / 8][4], const Tile<kTileRows>& a, int a_column,
                                   const Tile<Width>& b, int n) {
  const int lane = lane_of_warp();
  for (int k = 0; k < n; k += 16) {
    uint32_t x[4];
    load_matrices_transposed(x, a.at(k + lane / 16 * 8 + lane % 8, a_column + lane / 8 % 2 * 8));
    add_product(sums, x, b, k);
  }
}

// Calls f(j, c, column) for each element [j][c] of sums of products in the first n columns, rounded up to a multiple of
// 16. The element is in the lane's row c / 2.
template <int Chunks, class F>
__device__ inline void for_each_element(int n, const F& f) {
  const int column = 2 * (lane_of_warp() % 4);
#pragma unroll
  for (int j = 0; j < Chunks; ++j) {
    if (j / 2 * 16 >= n) break;
#pragma unroll
    for (int c = 0; c < 4; ++c) f(j, c, column + 8 * j + c % 2);
  }
}

// Maximum and sum over the four lanes that share rows.
__device__ inline float row_max(float x) {
  x = fmaxf(x, __shfl_xor_sync(0xFFFFFFFF, x, 1));
  return fmaxf(x, __shfl_xor_sync(0xFFFFFFFF, x, 2));
}
__device__ inline float row_sum(float x) {
  x += __shfl_xor_sync(0xFFFFFFFF, x, 1);
  return x + __shfl_xor_sync(0xFFFFFFFF, x, 2);
}

// Dropout mask of 16 rows and up to 64 columns of weights: the bits of the lane's own weights. Each call of the
// generator gives words for one key and four neighboring queries, which are in several lanes. Each of these lanes calls
// it for a part of the weights that they hold, and they exchange the bits.
struct KeptWeights {
  uint32_t bits[4];

  // True if the lane's element c of columns 8 n .. 8 n + 7 is kept.
  __device__ bool kept(int n, int c) const { return bits[c] >> (4 * n) & 1; }

  // For rows that are queries, the first being `first_query` of the segment, a multiple of 4, and columns that are
  // keys, the first being row first_key of the batch. The four lanes with the same t and g / 4 hold the words of a
  // call.
  __device__ void draw_by_query(const Scoring<float>& s, int head, int64_t first_key, int keys, int first_query) {
    const int lane = lane_of_warp(), g = lane / 4, t = lane % 4, place = g % 4;
    const int64_t key = first_key + 2 * t + place % 2;
    const uint32_t drawn =
        draw(s, keys, [&](int n) { return s.element(head, key + 8 * n, first_query + g / 4 * 4 + place / 2 * 8); });
    for (int c = 0; c < 4; ++c) bits[c] = __shfl_sync(0xFFFFFFFF, drawn, (g - place + c) * 4 + t) >> place;
  }
  // For rows that are keys, the first being row first_key of the batch, and columns that are queries, the first being
  // `first_query` of the segment, a multiple of 4. Two neighboring lanes hold the words of a call.
  __device__ void draw_by_key(const Scoring<float>& s, int head, int64_t first_key, int first_query, int queries) {
    const int lane = lane_of_warp(), g = lane / 4, t = lane % 4, place = t % 2;
    const int64_t key = first_key + g + 8 * place;
    const uint32_t own = draw(s, queries, [&](int n) { return s.element(head, key, first_query + 8 * n + t / 2 * 4); });
    const uint32_t other = __shfl_xor_sync(0xFFFFFFFF, own, 1);
    for (int c = 0; c < 4; ++c) bits[c] = (c / 2 == place ? own : other) >> (2 * place + c % 2);
  }

 private:
  // Bit 4 n + i: whether element(n) + i is kept.
  template <class Element>
  __device__ uint32_t draw(const Scoring<float>& s, int columns, const Element& element) {
    uint32_t drawn = 0;
    for (int n = 0; 8 * n < columns; ++n) {
      const auto words = philox(s.dropout.seed, s.dropout.stream, element(n) / 4);
      for (int i = 0; i < 4; ++i) drawn |= uint32_t(words[size_t(i)] >= s.dropout.threshold) << (4 * n + i);
    }
    return drawn;
  }
};

// Dropout of n columns, up to 64, of weights or of their gradients, from column 8 * `chunk` on.
template <int Chunks>
__device__ inline void drop(float (&x)[Chunks][4], int chunk, int n, const KeptWeights& kept, float factor) {
  for_each_element<8>(n, [&](int j, int c, int) {
    float& own = x[chunk + j][c];
    own = kept.kept(j, c) ? own * factor : 0;
  });
}

}  // namespace gyre::cuda
