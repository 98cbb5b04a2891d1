// Relative-position terms of attention without tensor cores, processed in parts of kPartWidth features. The kernels
// over queries and over keys take PlainTerms, or NoTerms, whose calls the compiler removes.
#pragma once

#include "gyre/core/cuda/attention/attention_plain.h"

namespace gyre::cuda {

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
struct NoTerms {
  NoTerms(const DevicePositionTerms<T>&) {}
  static size_t bytes(const DevicePositionTerms<T>&) { return 0; }

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
struct PlainTerms {
  DevicePositionTerms<T> device_terms;

  PlainTerms(const DevicePositionTerms<T>& device_terms) : device_terms(device_terms) {}
  // Bytes of shared memory for parts of tables.
  static size_t bytes(const DevicePositionTerms<T>& device_terms) {
    return device_terms.has_vectors() ? kPartElements<T> * sizeof(T) : 0;
  }

  // Query i sees the keys [first_key, end_key); both bounds may be outside of the segment.
  __device__ int first_key(const Scoring<T>&, const TilePair<T>& pair, int i) const {
    return max(0, pair.position(i) - device_terms.window);
  }
  __device__ int end_key(const Scoring<T>& s, const TilePair<T>& pair, int i) const {
    return min(s.edge(i, pair.queries, pair.keys), pair.position(i) + device_terms.window + 1);
  }
  // Key j is seen by the queries [first_query, end_query).
  __device__ int first_query(const Scoring<T>& s, const TilePair<T>& pair, int j) const {
    return max(s.first_query(j, pair.queries, pair.keys), j - pair.position(0) - device_terms.window);
  }
  __device__ int end_query(const TilePair<T>& pair, int j) const {
    return min(pair.queries, j - pair.position(0) + device_terms.window + 1);
  }
  __device__ bool sees(const Scoring<T>& s, const TilePair<T>& pair, int i, int j) const {
    return j >= first_key(s, pair, i) && j < end_key(s, pair, i);
  }

  // scores[r] += q . query_table[t] + k . key_table[t] + pos_queries . pos_keys
  __device__ void add_scores(T (&scores)[kOwnRows<T>], const TilePair<T>& pair, const PlainTile<T>& queries,
                             const PlainTile<T>& keys) const {
    add_band_dots<PairAxis::query>(scores, pair, device_terms.query, queries);
    add_band_dots<PairAxis::key>(scores, pair, device_terms.key, keys);
    T* const others = pair.parts + kPlainTile<T> * kPartStride<T>;
    for (int first = 0; first < device_terms.pos_width; first += kPartWidth) {
      __syncthreads();  // the previous part has been read
      load_part(pair.parts, kPlainTile<T>, device_terms.pos_queries, pair.position(pair.query), pair.head, first,
                device_terms.pos_width);
      load_part(others, kPlainTile<T>, device_terms.pos_keys, pair.key, pair.head, first, device_terms.pos_width);
      __syncthreads();
      add_dots(scores, AxisRows<T, own, PairAxis::query>{pair.parts}, AxisRows<T, own, PairAxis::key>{others},
               part_features<T>(first, device_terms.pos_width));
    }
  }
  // dots[r] += dout . value_table[t]
  __device__ void add_value_dots(T (&dots)[kOwnRows<T>], const TilePair<T>& pair, const PlainTile<T>& dout) const {
    add_band_dots<PairAxis::query>(dots, pair, device_terms.value, dout);
  }

  // sums[r][c] += sum over the other rows of weights[r] * feature lane + 32 c of table[t], for the table that `axis`
  // selects: the query, key or value table
  template <PairAxis axis, int Chunks>
  __device__ void add_rows(T (&sums)[kOwnRows<T>][Chunks], const T (&weights)[kOwnRows<T>], const TilePair<T>& pair,
                           int count) const {
    const HeadTable<T>& table = axis == PairAxis::query ? device_terms.query
                                : axis == PairAxis::key ? device_terms.key
                                                        : device_terms.value;
    if (!table) return;
#pragma unroll
    for (int first = 0; first < Chunks; first += kPartChunks) {
      if (first * kWarp >= pair.width) break;
      load_band(pair, table, first * kWarp);
      add_weighted<T, own, PairAxis::distance>(sums, first, weights, pair.parts, count);
    }
  }

  __device__ T log2_score(const Scoring<T>& s, T dots, const TilePair<T>& pair, int i, int j) const {
    return dots * s.scale_log2 + device_terms.bias_of(j - pair.position(i), pair.head) * std::numbers::log2e_v<T>;
  }

 private:
  __device__ void load_band(const TilePair<T>& pair, const HeadTable<T>& table, int first) const {
    const int nearest = pair.key - pair.position(pair.query) - (kPlainTile<T> - 1);
    __syncthreads();  // the previous part has been read
    load_part(pair.parts, 2 * kPlainTile<T> - 1, table, device_terms.zero_offset + nearest, pair.head, first,
              pair.width);
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
