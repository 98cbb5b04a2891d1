// Relative-position terms of attention without tensor cores, processed in parts of kPartWidth features. The kernels
// over queries and over keys take PlainPositionTerms, or NoPositionTerms, whose calls the compiler removes.
#pragma once

#include "gyre/core/cuda/attention/attention_call.h"
#include "gyre/core/cuda/runtime/launch.h"
#include "gyre/core/cuda/vectors.h"

namespace gyre::cuda {

// ---- Attention without tensor cores --------------------------------------------------------------------------------
// Attention without tensor cores: tiles in shared memory, sums in registers. A block has eight warps, and each warp
// processes some rows of the block's tile, its own rows. The rows of the other operand are the other rows. For scores,
// each lane holds one of the other rows; for sums of features, each lane holds the features lane + 32 c.

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

// Stride of the rows of a tile: an odd number of packs, so that lanes that read 16 bytes of consecutive rows have no
// bank conflicts.
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
                                  int count, int width, const RopeRows<T>& row_rotation) {
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
                                   const RopeRows<T>& row_rotation) {
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

constexpr int kPartWidth = 64, kPartChunks = kPartWidth / kWarp;
template <class T>
constexpr int kPartStride = kPartWidth + kPackSize<T>;  // equal to plain_stride(kPartWidth)
// Number of elements of a part, with the rows of up to two tiles.
template <class T>
constexpr int kPartElements = kPartStride<T> * 2 * kPlainTile<T>;

// The three axes of a pair of query and key. The block's own rows are one of them. Each lane holds one of the other
// rows: a key if the own rows are queries, otherwise a query. The third axis follows from the other two, and its rows
// form a band of one row fewer than two tiles.
enum class PairAxis : uint8_t { query, key, distance };

template <PairAxis own>
constexpr PairAxis kBandOf = own == PairAxis::distance ? PairAxis::key : PairAxis::distance;
template <class T, PairAxis own, PairAxis axis>
constexpr int kAxisRows = axis == kBandOf<own> ? 2 * kPlainTile<T> - 1 : kPlainTile<T>;

// The row in shared memory of an axis of the pair (own row, other row).
template <class T, PairAxis own, PairAxis axis>
__device__ inline int axis_row(int row, int other) {
  if constexpr (axis == own) return row;
  if constexpr (axis != kBandOf<own>) return other;
  if constexpr (own == PairAxis::distance) return row + other;
  return kPlainTile<T> - 1 + (own == PairAxis::query ? other - row : row - other);
}

// The features of an axis in shared memory, for the pair of the warp's own row r and the lane's other row.
template <class T, PairAxis own, PairAxis axis>
struct AxisRows {
  const T* data;
  int stride = kPartStride<T>;
  __device__ const T* operator()(int r) const {
    const int warp = int(threadIdx.x) / kWarp, other = int(threadIdx.x) % kPlainTile<T>;
    return data + axis_row<T, own, axis>(warp + kPlainWarps * r, other) * stride;
  }
};

// sums[r] += x(r) . y(r)
template <class T, class X, class Y>
__device__ inline void add_dots(T (&sums)[kOwnRows<T>], const X& x, const Y& y, int features) {
  constexpr int N = kPackSize<T>;
  for (int f = 0; f < features; f += N) {
    for (int r = 0; r < kOwnRows<T>; ++r) {
      const Pack<T> a = load_pack(x(r) + f, N, true), b = load_pack(y(r) + f, N, true);
      for (int i = 0; i < N; ++i) sums[r] += a[i] * b[i];
    }
  }
}

// sums[r][first + c] += sum over the other rows of weights[r] (in the lane of that row) * feature lane + 32 c, in the
// part, of the axis
template <class T, PairAxis own, PairAxis axis, int Chunks>
__device__ inline void add_weighted(T (&sums)[kOwnRows<T>][Chunks], int first, const T (&weights)[kOwnRows<T>],
                                    const T* part, int count) {
  const int warp = int(threadIdx.x) / kWarp, lane = int(threadIdx.x) % kWarp;
  for (int j = 0; j < count; ++j) {
    for (int r = 0; r < kOwnRows<T>; ++r) {
      const T weight = __shfl_sync(0xFFFFFFFF, weights[r], j);
      const T* x = part + axis_row<T, own, axis>(warp + kPlainWarps * r, j) * kPartStride<T> + lane;
#pragma unroll
      for (int c = 0; c < kPartChunks; ++c) sums[r][first + c] += weight * x[kWarp * c];
    }
  }
}

// Fills a part with features first .. first + kPartWidth - 1 of the rows: element(row, feature) for features below
// `width`, otherwise zeros.
template <class T, class Element>
__device__ inline void fill_part(T* part, int rows, int first, int width, const Element& element) {
  const int warp = int(threadIdx.x) / kWarp, lane = int(threadIdx.x) % kWarp;
  for (int i = warp; i < rows; i += kPlainWarps)
    for (int f = lane; f < kPartWidth; f += kWarp)
      part[i * kPartStride<T> + f] = first + f < width ? element(i, first + f) : T(0);
}
// Loads rows index, index + 1, .. of a table into a part. Rows outside of the table are zero.
template <class T>
__device__ inline void load_part(T* part, int rows, const HeadTable<T>& table, int64_t index, int head, int first,
                                 int width) {
  fill_part(part, rows, first, width, [&](int i, int f) {
    const T* row = table.row(index + i, head);
    return row ? row[f] : T(0);
  });
}
// The number of features of the part to multiply, in whole packs.
template <class T>
__device__ inline int part_features(int first, int width) {
  return min(kPartWidth, int(divide_up(width - first, kPackSize<T>)) * kPackSize<T>);
}

// A tile of queries and a tile of keys.
template <class T>
struct TilePair {
  T* parts;  // shared memory
  int head, width;
  int queries, keys;       // numbers of rows in the segment
  int query = 0, key = 0;  // first rows of the tiles

  __device__ int position(int i) const { return i + keys - queries; }  // position of a query among the keys
};

template <class T, PairAxis own>
struct NoPositionTerms {
  NoPositionTerms(const PositionTableRows<T>&) {}
  static size_t bytes(const PositionTableRows<T>&) { return 0; }

  __device__ int first_key(const Scoring<T>&, const TilePair<T>&, int) const { return 0; }
  __device__ int end_key(const Scoring<T>& s, const TilePair<T>& pair, int i) const {
    return s.edge(i, pair.queries, pair.keys);
  }
  __device__ int first_query(const Scoring<T>& s, const TilePair<T>& pair, int j) const {
    return s.first_query(j, pair.queries, pair.keys);
  }
  __device__ int end_query(const TilePair<T>& pair, int) const { return pair.queries; }
  __device__ bool sees(const Scoring<T>& s, const TilePair<T>& pair, int i, int j) const {
    return j < end_key(s, pair, i);
  }
  __device__ void add_scores(T (&)[kOwnRows<T>], const TilePair<T>&, const PlainTile<T>&, const PlainTile<T>&) const {}
  __device__ void add_value_dots(T (&)[kOwnRows<T>], const TilePair<T>&, const PlainTile<T>&) const {}
  template <PairAxis axis, int Chunks>
  __device__ void add_rows(T (&)[kOwnRows<T>][Chunks], const T (&)[kOwnRows<T>], const TilePair<T>&, int) const {}
  __device__ T log2_score(const Scoring<T>& s, T dots, const TilePair<T>&, int, int) const {
    return dots * s.scale_log2;
  }
};

template <class T, PairAxis own>
struct PlainPositionTerms {
  PositionTableRows<T> tables;

  PlainPositionTerms(const PositionTableRows<T>& tables) : tables(tables) {}
  // Bytes of shared memory for parts of tables.
  static size_t bytes(const PositionTableRows<T>& tables) {
    return tables.has_vectors() ? kPartElements<T> * sizeof(T) : 0;
  }

  // Query i sees the keys [first_key, end_key); both bounds may be outside of the segment.
  __device__ int first_key(const Scoring<T>&, const TilePair<T>& pair, int i) const {
    return max(0, pair.position(i) - tables.window);
  }
  __device__ int end_key(const Scoring<T>& s, const TilePair<T>& pair, int i) const {
    return min(s.edge(i, pair.queries, pair.keys), pair.position(i) + tables.window + 1);
  }
  // Key j is seen by the queries [first_query, end_query).
  __device__ int first_query(const Scoring<T>& s, const TilePair<T>& pair, int j) const {
    return max(s.first_query(j, pair.queries, pair.keys), j - pair.position(0) - tables.window);
  }
  __device__ int end_query(const TilePair<T>& pair, int j) const {
    return min(pair.queries, j - pair.position(0) + tables.window + 1);
  }
  __device__ bool sees(const Scoring<T>& s, const TilePair<T>& pair, int i, int j) const {
    return j >= first_key(s, pair, i) && j < end_key(s, pair, i);
  }

  // scores[r] += q . query_table[t] + k . key_table[t] + pos_queries . pos_keys
  __device__ void add_scores(T (&scores)[kOwnRows<T>], const TilePair<T>& pair, const PlainTile<T>& queries,
                             const PlainTile<T>& keys) const {
    add_band_dots<PairAxis::query>(scores, pair, tables.query, queries);
    add_band_dots<PairAxis::key>(scores, pair, tables.key, keys);
    T* const others = pair.parts + kPlainTile<T> * kPartStride<T>;
    for (int first = 0; first < tables.pos_width; first += kPartWidth) {
      __syncthreads();  // the previous part has been read
      load_part(pair.parts, kPlainTile<T>, tables.pos_queries, pair.position(pair.query), pair.head, first,
                tables.pos_width);
      load_part(others, kPlainTile<T>, tables.pos_keys, pair.key, pair.head, first, tables.pos_width);
      __syncthreads();
      add_dots(scores, AxisRows<T, own, PairAxis::query>{pair.parts}, AxisRows<T, own, PairAxis::key>{others},
               part_features<T>(first, tables.pos_width));
    }
  }
  // dots[r] += dout . value_table[t]
  __device__ void add_value_dots(T (&dots)[kOwnRows<T>], const TilePair<T>& pair, const PlainTile<T>& dout) const {
    add_band_dots<PairAxis::query>(dots, pair, tables.value, dout);
  }

  // sums[r][c] += sum over the other rows of weights[r] * feature lane + 32 c of table[t], for the table that `axis`
  // selects: the query, key or value table
  template <PairAxis axis, int Chunks>
  __device__ void add_rows(T (&sums)[kOwnRows<T>][Chunks], const T (&weights)[kOwnRows<T>], const TilePair<T>& pair,
                           int count) const {
    const HeadTable<T>& table = axis == PairAxis::query ? tables.query
                                : axis == PairAxis::key ? tables.key
                                                        : tables.value;
    if (!table) return;
#pragma unroll
    for (int first = 0; first < Chunks; first += kPartChunks) {
      if (first * kWarp >= pair.width) break;
      load_band(pair, table, first * kWarp);
      add_weighted<T, own, PairAxis::distance>(sums, first, weights, pair.parts, count);
    }
  }

  __device__ T log2_score(const Scoring<T>& s, T dots, const TilePair<T>& pair, int i, int j) const {
    return dots * s.scale_log2 + tables.bias_of(j - pair.position(i), pair.head) * std::numbers::log2e_v<T>;
  }

 private:
  __device__ void load_band(const TilePair<T>& pair, const HeadTable<T>& table, int first) const {
    const int nearest = pair.key - pair.position(pair.query) - (kPlainTile<T> - 1);
    __syncthreads();  // the previous part has been read
    load_part(pair.parts, 2 * kPlainTile<T> - 1, table, tables.zero_offset + nearest, pair.head, first, pair.width);
    __syncthreads();
  }
  template <PairAxis axis>
  __device__ void add_band_dots(T (&dots)[kOwnRows<T>], const TilePair<T>& pair, const HeadTable<T>& table,
                                const PlainTile<T>& rows) const {
    if (!table) return;
    for (int first = 0; first < pair.width; first += kPartWidth) {
      load_band(pair, table, first);
      add_dots(dots, AxisRows<T, own, axis>{rows.data + first, rows.stride},
               AxisRows<T, own, PairAxis::distance>{pair.parts}, part_features<T>(first, pair.width));
    }
  }
};

}  // namespace gyre::cuda
