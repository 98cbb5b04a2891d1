// The pairs of queries and keys that a block of position_terms_backward.cu runs over, and their weights.
#pragma once

#include <algorithm>

#include "gyre/core/cuda/attention/plain_position_terms.h"

namespace gyre::cuda {

// Sums over the slices of the segments: (slices, rows, heads * width) each, or null if not needed.
template <class T>
struct SlicedSums {
  T *query = nullptr, *key = nullptr, *value = nullptr;  // gradients of the tables
  T* bias = nullptr;                                     // (slices, rows, heads)
  T* positions = nullptr;                                // gradient of pos_queries or pos_keys
  int64_t rows = 0;                                      // rows of a table
  int width = 0;                                         // features of a head
};

// First rows of the tiles, in the segment or in the table.
struct TileStarts {
  int query, key, distance;
};

// The tiles of one segment that a block runs over: the tiles of the other rows begin at `first` and end before `end`.
template <class T, PairAxis own>
struct Walk {
  AttentionWork w;  // rows are queries
  int own_row;      // first own row of the block
  const Scoring<T>& s;
  const DevicePositionTerms<T>& device_terms;
  int ahead = w.count_other - w.count;  // position of the first query
  int first = 0, end = 0;

  __device__ Walk(const AttentionWork& w, int own_row, const Scoring<T>& s, const DevicePositionTerms<T>& device_terms)
      : w(w), own_row(own_row), s(s), device_terms(device_terms) {
    constexpr int last = kPlainTile<T> - 1;
    const int after = s.causal ? 0 : device_terms.window;  // the largest visible distance
    if constexpr (own == PairAxis::distance) {
      const int t = own_row - device_terms.zero_offset;
      if (t > after || t + last < -device_terms.window) return;
      first = max(0, -ahead - t - last);
      end = min(w.count, w.count_other - ahead - t);
    } else if constexpr (own == PairAxis::query) {
      if (own_row >= w.count_other || own_row + last < ahead) return;
      first = max(0, own_row - device_terms.window);
      end = min(w.count_other, own_row + last + after + 1);
    } else {
      if (own_row >= w.count_other) return;
      first = max(0, own_row - after - ahead);
      end = min(w.count, own_row + last + device_terms.window + 1 - ahead);
    }
  }

  __device__ TileStarts starts(int other) const {
    constexpr int last = kPlainTile<T> - 1;
    if constexpr (own == PairAxis::distance)
      return {other, other + ahead + own_row - device_terms.zero_offset, own_row};
    if constexpr (own == PairAxis::query)
      return {own_row - ahead, other, device_terms.zero_offset + other - own_row - last};
    return {other, own_row, device_terms.zero_offset + own_row - (other + ahead) - last};
  }

  // The pair of the warp's own row r and the lane's other row: query, key, and the mask.
  struct Seen {
    int i, j;
    bool visible;
  };
  __device__ Seen pair(int r, const TileStarts& at) const {
    const int row = int(threadIdx.x) / kWarp + kPlainWarps * r, lane = int(threadIdx.x) % kWarp;
    const int i = at.query + axis_row<T, own, PairAxis::query>(row, lane);
    const int j = at.key + axis_row<T, own, PairAxis::key>(row, lane), t = j - (i + ahead);
    const bool inside = lane < kPlainTile<T> && i >= 0 && i < w.count && j >= 0 && j < w.count_other;
    return {i, j, inside && t <= (s.causal ? 0 : device_terms.window) && t >= -device_terms.window};
  }
};

// Shared memory holds one part of each of four operands, with up to two tiles of rows each.
constexpr int kOperands = 4;

template <class D, PairAxis own>
struct Block {
  using T = Compute<D>;
  const AttentionBackward<D>& a;
  const DevicePositionTerms<T>& device_terms;
  int head;
  const Walk<T, own>& walk;
  TileStarts at;

  __device__ T* operand(int n) const { return shared_memory<T>() + n * kPartElements<T>; }

  // Loads a part of the segment's queries or keys, rotated. Rows outside of the segment are zero.
  template <PairAxis axis>
  __device__ void load_rows(T* part, const Rows<D>& from, const RowRotation<T>& row_rotation, int first) const {
    const AttentionWork& w = walk.w;
    const int begin = axis == PairAxis::query ? at.query : at.key,
              count = axis == PairAxis::query ? w.count : w.count_other;
    const int64_t row_of_batch = axis == PairAxis::query ? w.first : w.first_other;
    const int64_t feature = axis == PairAxis::query ? int64_t(head) * a.scoring.width : a.scoring.key_feature(head);
    fill_part(part, kAxisRows<T, own, axis>, first, a.scoring.width, [&](int i, int f) {
      if (begin + i < 0 || begin + i >= count) return T(0);
      const int64_t row = row_of_batch + begin + i;
      return row_rotation.rotated(from.data + row * from.stride + feature, row, f);
    });
  }
  __device__ void load_queries(T* part, int first) const {
    load_rows<PairAxis::query>(part, a.q, a.query_rotation, first);
  }
  __device__ void load_dout(T* part, int first) const {
    load_rows<PairAxis::query>(part, a.dout, RowRotation<T>{}, first);
  }
  __device__ void load_keys(T* part, int first) const { load_rows<PairAxis::key>(part, a.k, a.key_rotation, first); }
  __device__ void load_values(T* part, int first) const {
    load_rows<PairAxis::key>(part, a.v, RowRotation<T>{}, first);
  }
  __device__ void load_table(T* part, const HeadTable<T>& table, int first) const {
    if (table) load_part(part, kAxisRows<T, own, PairAxis::distance>, table, at.distance, head, first, a.scoring.width);
  }
  __device__ void load_pos_queries(T* part, int first) const {
    load_part(part, kAxisRows<T, own, PairAxis::query>, device_terms.pos_queries, at.query + walk.ahead, head, first,
              device_terms.pos_width);
  }
  __device__ void load_pos_keys(T* part, int first) const {
    load_part(part, kAxisRows<T, own, PairAxis::key>, device_terms.pos_keys, at.key, head, first,
              device_terms.pos_width);
  }
  template <PairAxis axis>
  __device__ AxisRows<T, own, axis> rows(int n) const {
    return {operand(n)};
  }

  // dots[r] += q . k + q . query_table + k . key_table
  __device__ void add_vectors(T (&dots)[kOwnRows<T>]) const {
    for (int first = 0; first < a.scoring.width; first += kPartWidth) {
      const int features = part_features<T>(first, a.scoring.width);
      __syncthreads();  // the previous part has been read
      load_queries(operand(0), first);
      load_keys(operand(1), first);
      load_table(operand(2), device_terms.query, first);
      load_table(operand(3), device_terms.key, first);
      __syncthreads();
      add_dots(dots, rows<PairAxis::query>(0), rows<PairAxis::key>(1), features);
      if (device_terms.query) add_dots(dots, rows<PairAxis::query>(0), rows<PairAxis::distance>(2), features);
      if (device_terms.key) add_dots(dots, rows<PairAxis::key>(1), rows<PairAxis::distance>(3), features);
    }
  }
  __device__ void add_pos_scores(T (&dots)[kOwnRows<T>]) const {
    for (int first = 0; first < device_terms.pos_width; first += kPartWidth) {
      __syncthreads();
      load_pos_queries(operand(0), first);
      load_pos_keys(operand(1), first);
      __syncthreads();
      add_dots(dots, rows<PairAxis::query>(0), rows<PairAxis::key>(1), part_features<T>(first, device_terms.pos_width));
    }
  }
  // dots[r] += dout . (v + value_table)
  __device__ void add_value_dots(T (&dots)[kOwnRows<T>]) const {
    for (int first = 0; first < a.scoring.width; first += kPartWidth) {
      const int features = part_features<T>(first, a.scoring.width);
      __syncthreads();
      load_dout(operand(0), first);
      load_values(operand(1), first);
      load_table(operand(2), device_terms.value, first);
      __syncthreads();
      add_dots(dots, rows<PairAxis::query>(0), rows<PairAxis::key>(1), features);
      if (device_terms.value) add_dots(dots, rows<PairAxis::query>(0), rows<PairAxis::distance>(2), features);
    }
  }

  // Computes m p and ds of the warp's pairs.
  __device__ void weigh(T (&weights)[kOwnRows<T>], T (&dweights)[kOwnRows<T>]) const {
    const Scoring<T>& s = a.scoring;
    for (int r = 0; r < kOwnRows<T>; ++r) weights[r] = dweights[r] = 0;
    add_vectors(weights);
    add_pos_scores(weights);
    add_value_dots(dweights);
    for (int r = 0; r < kOwnRows<T>; ++r) {
      const auto [i, j, visible] = walk.pair(r, at);
      const int64_t saved = head * a.query_rows + walk.w.first + i;
      const T score =
          weights[r] * s.scale_log2 + device_terms.bias_of(j - (i + walk.ahead), head) * std::numbers::log2e_v<T>;
      Pair<T> pair(s, score, dweights[r], visible ? a.lse[saved] : T(0), visible, head, int64_t(walk.w.first_other) + j,
                   i);
      pair.finish(T(1), visible ? a.sums[saved] : T(0));
      weights[r] = pair.weight;
      dweights[r] = pair.dweight;
    }
  }
};

}  // namespace gyre::cuda
