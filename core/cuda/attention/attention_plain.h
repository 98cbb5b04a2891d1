// Attention without tensor cores: tiles in shared memory, sums in registers. A block has eight warps, and each warp
// processes some rows of the block's tile, its own rows. The rows of the other operand are the other rows. For scores,
// each lane holds one of the other rows; for sums of features, each lane holds the features lane + 32 c.
#pragma once

#include "gyre/core/cuda/attention/attention_call.h"
#include "gyre/core/cuda/runtime/launch.h"
#include "gyre/core/cuda/vectors.h"

namespace gyre::cuda {

constexpr int kPlainWarps = 8, kPlainThreads = kPlainWarps * kWarp;
template <class T>
constexpr int kPlainTile = sizeof(T) == 8 ? 16 : 32;  // rows
template <int Chunks>
constexpr int kPlainBlocks = Chunks > 2 ? 1 : 2;  // minimum number per multiprocessor
// Calls f with the number of chunks (of 32 features) for heads of this width.
template <class F>
void with_plain_chunks(int width, F&& f) {
  if (width <= 2 * kWarp) return f(std::integral_constant<int, 2>{});
  f(std::integral_constant<int, kWidestHead / kWarp>{});
}
template <class T>
constexpr int kOwnRows = kPlainTile<T> / kPlainWarps;

// Stride of the rows of a tile: an odd number of packs, so that lanes that read 16 bytes of consecutive
// rows have no bank conflicts.
template <class T>
__host__ __device__ inline int plain_stride(int width) {
  return (((width + kPackSize<T> - 1) / kPackSize<T>) | 1) * kPackSize<T>;
}

template <class T>
struct PlainTile {
  T* data;
  int stride;
  __device__ T* row(int i) const { return data + i * stride; }
};

// Tile number `index` of the block's shared memory.
template <class T>
__device__ inline PlainTile<T> plain_tile(int index, int width) {
  const int stride = plain_stride<T>(width);
  return {shared_memory<T>() + index * kPlainTile<T> * stride, stride};
}
template <class T>
size_t plain_bytes(int tiles, int width) {
  return size_t(tiles) * size_t(kPlainTile<T> * plain_stride<T>(width)) * sizeof(T);
}

// Loads rows first .. first + count - 1 of a head into the tile, rotated. The rest of the tile is zero.
template <class D, class T>
__device__ inline void load_plain(const PlainTile<T>& tile, const Rows<D>& from, int64_t feature, int64_t first,
                                  int count, int width, const RowRotation<T>& row_rotation) {
  const int warp = int(threadIdx.x) / kWarp, lane = int(threadIdx.x) % kWarp;
  for (int i = warp; i < kPlainTile<T>; i += kPlainWarps) {
    const D* row = from.data + (first + i) * from.stride + feature;
    for (int f = lane; f < tile.stride; f += kWarp)
      tile.row(i)[f] = i < count && f < width ? row_rotation.rotated(row, first + i, f) : T(0);
  }
}

// scores[r] = (own row r of the warp) . (other row `lane`). Lanes beyond the tile repeat rows of other lanes.
template <class T>
__device__ inline void plain_scores(T (&scores)[kOwnRows<T>], const PlainTile<T>& own, const PlainTile<T>& other) {
  const int warp = int(threadIdx.x) / kWarp, lane = int(threadIdx.x) % kPlainTile<T>;
  for (int r = 0; r < kOwnRows<T>; ++r) scores[r] = 0;
  constexpr int N = kPackSize<T>;
  for (int f = 0; f < own.stride; f += N) {
    const Pack<T> y = load_pack(other.row(lane) + f, N, true);
    for (int r = 0; r < kOwnRows<T>; ++r) {
      const Pack<T> x = load_pack(own.row(warp + kPlainWarps * r) + f, N, true);
      for (int i = 0; i < N; ++i) scores[r] += x[i] * y[i];
    }
  }
}

// sums[r][c] += sum over the other rows of weights[r] (in the lane of that row) * its feature lane + 32 c
template <class T, int Chunks>
__device__ inline void add_plain(T (&sums)[kOwnRows<T>][Chunks], const T (&weights)[kOwnRows<T>],
                                 const PlainTile<T>& other, int count, int width) {
  const int lane = int(threadIdx.x) % kWarp;
  for (int j = 0; j < count; ++j) {
    T weight[kOwnRows<T>];
    for (int r = 0; r < kOwnRows<T>; ++r) weight[r] = __shfl_sync(0xFFFFFFFF, weights[r], j);
#pragma unroll
    for (int c = 0; c < Chunks; ++c) {
      const int f = lane + kWarp * c;
      const T x = f < width ? other.row(j)[f] : T(0);
      for (int r = 0; r < kOwnRows<T>; ++r) sums[r][c] += weight[r] * x;
    }
  }
}

// Rotates the warp's own rows back and stores them. Uses the warp's rows of `tile` as a buffer, which no other warp may
// still read.
template <class D, class T, int Chunks>
__device__ inline void store_plain(const GradientRows<D>& to, int64_t feature, int64_t first, int count, int width,
                                   const T (&sums)[kOwnRows<T>][Chunks], const PlainTile<T>& tile,
                                   const RowRotation<T>& row_rotation) {
  const int warp = int(threadIdx.x) / kWarp, lane = int(threadIdx.x) % kWarp;
  if (!to) return;
  __syncwarp();
  for (int r = 0; r < kOwnRows<T>; ++r)
    for (int c = 0; c < Chunks; ++c)
      if (lane + kWarp * c < width) tile.row(warp + kPlainWarps * r)[lane + kWarp * c] = sums[r][c];
  __syncwarp();
  for (int r = 0; r < kOwnRows<T>; ++r) {
    const int i = warp + kPlainWarps * r;
    if (i >= count) continue;
    const int64_t row = first + i;
    for (int f = lane; f < width; f += kWarp) {
      if (to.exact.data) to.exact.data[row * to.exact.stride + feature + f] = tile.row(i)[f];
      if (to.rows.data)
        store(to.rows.data + row * to.rows.stride + feature + f, row_rotation.rotated_back(tile.row(i), row, f));
    }
  }
}

// One pair of query and key in backward, computed from its score, times log2(e), and dp = dout . v.
template <class T>
struct Pair {
  T weight;   // p, then m p
  T dweight;  // m dp, then ds

  __device__ Pair(const Scoring<T>& s, T score, T dp, T lse, bool visible, int head, int64_t key_row, int query)
      : weight(visible ? exp2(score - lse * std::numbers::log2e_v<T>) : T(0)), dweight(dp) {
    if (visible && s.dropout.active()) factor_ = s.factor(head, key_row, query);
    dweight *= factor_;
  }
  __device__ void finish(T scale, T sum) {
    dweight = scale * weight * (dweight - sum);
    weight *= factor_;
  }

 private:
  T factor_ = 1;
};

}  // namespace gyre::cuda
