// What order adds to attention on plain arithmetic, part of the features after part. The kernels of queries and of keys
// take NoTerms, of which nothing is left when they are compiled, or PlainTerms.
#pragma once

#include "core/cuda/attention_plain.h"

namespace gyre::cuda {

constexpr int kPartWidth = 64, kPartChunks = kPartWidth / kWarp;
template <class T>
constexpr int kPartStride = kPartWidth + kNeighbours<T>;  // as plain_stride has it
// Elements of the rows of up to two tiles.
template <class T>
constexpr int kPartElements = kPartStride<T> * 2 * kPlainTile<T>;

// The pairs of a block's tile. Its own rows are one of these, and each lane has a row from across: a key where own rows
// are queries, else a query. The third item of a pair follows from the two: it lies in a band of rows, one fewer than
// two tiles have.
enum class Item : uint8_t { query, key, distance };

template <Item own>
constexpr Item kBandOf = own == Item::distance ? Item::key : Item::distance;
template <class T, Item own, Item item>
constexpr int kItemRows = item == kBandOf<own> ? 2 * kPlainTile<T> - 1 : kPlainTile<T>;

// Which row in shared memory has the item of the pair (own row, row from across).
template <class T, Item own, Item item>
__device__ inline int item_row(int row, int across) {
  if constexpr (item == own) return row;
  if constexpr (item != kBandOf<own>) return across;
  if constexpr (own == Item::distance) return row + across;
  return kPlainTile<T> - 1 + (own == Item::query ? across - row : row - across);
}

// The items' rows of features, for the warp's row r and the lane.
template <class T, Item own, Item item>
struct ItemRows {
  const T* data;
  int stride = kPartStride<T>;
  __device__ const T* operator()(int r) const {
    const int warp = int(threadIdx.x) / kWarp, across = int(threadIdx.x) % kPlainTile<T>;
    return data + item_row<T, own, item>(warp + kPlainWarps * r, across) * stride;
  }
};

// sums[r] += x(r) . y(r)
template <class T, class X, class Y>
__device__ inline void add_dots(T (&sums)[kOwnRows<T>], const X& x, const Y& y, int features) {
  constexpr int N = kNeighbours<T>;
  for (int f = 0; f < features; f += N) {
    for (int r = 0; r < kOwnRows<T>; ++r) {
      const Neighbours<T> a = load_neighbours(x(r) + f, N, true), b = load_neighbours(y(r) + f, N, true);
      for (int i = 0; i < N; ++i) sums[r] += a[i] * b[i];
    }
  }
}

// sums[r][first + c] += sum over rows from across of weights[r] (in the lane of that row) * its item's feature
// lane + 32 c of the part
template <class T, Item own, Item item, int Chunks>
__device__ inline void add_weighted(T (&sums)[kOwnRows<T>][Chunks], int first, const T (&weights)[kOwnRows<T>],
                                    const T* part, int count) {
  const int warp = int(threadIdx.x) / kWarp, lane = int(threadIdx.x) % kWarp;
  for (int j = 0; j < count; ++j) {
    for (int r = 0; r < kOwnRows<T>; ++r) {
      const T weight = __shfl_sync(0xFFFFFFFF, weights[r], j);
      const T* x = part + item_row<T, own, item>(warp + kPlainWarps * r, j) * kPartStride<T> + lane;
#pragma unroll
      for (int c = 0; c < kPartChunks; ++c) sums[r][first + c] += weight * x[kWarp * c];
    }
  }
}

// The part = features first .. first + kPartWidth - 1 of rows: element(row, feature) of those below `width`, else
// zeros.
template <class T, class Element>
__device__ inline void fill_part(T* part, int rows, int first, int width, const Element& element) {
  const int warp = int(threadIdx.x) / kWarp, lane = int(threadIdx.x) % kWarp;
  for (int i = warp; i < rows; i += kPlainWarps)
    for (int f = lane; f < kPartWidth; f += kWarp)
      part[i * kPartStride<T> + f] = first + f < width ? element(i, first + f) : T(0);
}
// Rows index, index + 1, .. of a table; zeros for those that it has not.
template <class T>
__device__ inline void load_part(T* part, int rows, const HeadTable<T>& table, int64_t index, int head, int first,
                                 int width) {
  fill_part(part, rows, first, width, [&](int i, int f) {
    const T* row = table.row(index + i, head);
    return row ? row[f] : T(0);
  });
}
// Features of the part to multiply, in whole neighbours.
template <class T>
__device__ inline int part_features(int first, int width) {
  return min(kPartWidth, int(divide_up(width - first, kNeighbours<T>)) * kNeighbours<T>);
}

// A tile of queries and one of keys.
template <class T>
struct TilePair {
  T* parts;  // shared memory
  int head, width;
  int queries, keys;       // in the segment
  int query = 0, key = 0;  // the tiles' first

  __device__ int place(int i) const { return i + keys - queries; }  // of a query among the keys
};

template <class T, Item own>
struct NoTerms {
  NoTerms(const OrderTerms<T>&) {}
  static size_t bytes(const OrderTerms<T>&) { return 0; }

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
  template <Item item, int Chunks>
  __device__ void add_rows(T (&)[kOwnRows<T>][Chunks], const T (&)[kOwnRows<T>], const TilePair<T>&, int) const {}
  __device__ T log2_score(const Scoring<T>& s, T dots, const TilePair<T>&, int, int) const {
    return dots * s.scale_log2;
  }
};

template <class T, Item own>
struct PlainTerms {
  OrderTerms<T> order;

  PlainTerms(const OrderTerms<T>& order) : order(order) {}
  // Of shared memory, for parts of tables.
  static size_t bytes(const OrderTerms<T>& order) { return order.has_vectors() ? kPartElements<T> * sizeof(T) : 0; }

  // Keys from first_key on and below end_key are seen by query i; either may lie beyond the segment's.
  __device__ int first_key(const Scoring<T>&, const TilePair<T>& pair, int i) const {
    return max(0, pair.place(i) - order.reach);
  }
  __device__ int end_key(const Scoring<T>& s, const TilePair<T>& pair, int i) const {
    return min(s.edge(i, pair.queries, pair.keys), pair.place(i) + order.reach + 1);
  }
  // Likewise the queries that see key j.
  __device__ int first_query(const Scoring<T>& s, const TilePair<T>& pair, int j) const {
    return max(s.first_query(j, pair.queries, pair.keys), j - pair.place(0) - order.reach);
  }
  __device__ int end_query(const TilePair<T>& pair, int j) const {
    return min(pair.queries, j - pair.place(0) + order.reach + 1);
  }
  __device__ bool sees(const Scoring<T>& s, const TilePair<T>& pair, int i, int j) const {
    return j >= first_key(s, pair, i) && j < end_key(s, pair, i);
  }

  // scores[r] += q . query_table[t] + k . key_table[t] + query_places . key_places
  __device__ void add_scores(T (&scores)[kOwnRows<T>], const TilePair<T>& pair, const PlainTile<T>& queries,
                             const PlainTile<T>& keys) const {
    add_band_dots<Item::query>(scores, pair, order.query, queries);
    add_band_dots<Item::key>(scores, pair, order.key, keys);
    T* const others = pair.parts + kPlainTile<T> * kPartStride<T>;
    for (int first = 0; first < order.place_width; first += kPartWidth) {
      __syncthreads();  // the part before has been read
      load_part(pair.parts, kPlainTile<T>, order.query_places, pair.place(pair.query), pair.head, first,
                order.place_width);
      load_part(others, kPlainTile<T>, order.key_places, pair.key, pair.head, first, order.place_width);
      __syncthreads();
      add_dots(scores, ItemRows<T, own, Item::query>{pair.parts}, ItemRows<T, own, Item::key>{others},
               part_features<T>(first, order.place_width));
    }
  }
  // dots[r] += dout . value_table[t]
  __device__ void add_value_dots(T (&dots)[kOwnRows<T>], const TilePair<T>& pair, const PlainTile<T>& dout) const {
    add_band_dots<Item::query>(dots, pair, order.value, dout);
  }

  // sums[r][c] += sum over the rows from across of weights[r] * table[t], of what meets the item: feature lane + 32 c
  template <Item item, int Chunks>
  __device__ void add_rows(T (&sums)[kOwnRows<T>][Chunks], const T (&weights)[kOwnRows<T>], const TilePair<T>& pair,
                           int count) const {
    const HeadTable<T>& table = item == Item::query ? order.query : item == Item::key ? order.key : order.value;
    if (!table) return;
#pragma unroll
    for (int first = 0; first < Chunks; first += kPartChunks) {
      if (first * kWarp >= pair.width) break;
      load_band(pair, table, first * kWarp);
      add_weighted<T, own, Item::distance>(sums, first, weights, pair.parts, count);
    }
  }

  __device__ T log2_score(const Scoring<T>& s, T dots, const TilePair<T>& pair, int i, int j) const {
    return dots * s.scale_log2 + order.bias_of(j - pair.place(i), pair.head) * std::numbers::log2e_v<T>;
  }

 private:
  __device__ void load_band(const TilePair<T>& pair, const HeadTable<T>& table, int first) const {
    const int nearest = pair.key - pair.place(pair.query) - (kPlainTile<T> - 1);
    __syncthreads();  // the part before has been read
    load_part(pair.parts, 2 * kPlainTile<T> - 1, table, order.zero + nearest, pair.head, first, pair.width);
    __syncthreads();
  }
  template <Item item>
  __device__ void add_band_dots(T (&dots)[kOwnRows<T>], const TilePair<T>& pair, const HeadTable<T>& table,
                                const PlainTile<T>& rows) const {
    if (!table) return;
    for (int first = 0; first < pair.width; first += kPartWidth) {
      load_band(pair, table, first);
      add_dots(dots, ItemRows<T, own, item>{rows.data + first, rows.stride},
               ItemRows<T, own, Item::distance>{pair.parts}, part_features<T>(first, pair.width));
    }
  }
};

}  // namespace gyre::cuda
