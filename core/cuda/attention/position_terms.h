// Relative-position terms of attention (AttentionPositionTerms) and the window, in the form that device code reads.
#pragma once

#include <algorithm>

#include "gyre/core/cuda/dispatch.h"

namespace gyre::cuda {

// A table with one row per distance or position. Each head has separate columns, or all heads share the same ones.
template <class T>
struct HeadTable {
  const T* data = nullptr;
  int64_t rows = 0, stride = 0, step = 0;  // stride from row to row, step from head to head

  HeadTable() = default;
  HeadTable(const Tensor& table, int64_t width) {
    if (!table) return;
    data = table.data<T>();
    rows = table.rows();
    stride = table.cols();
    step = stride == width ? 0 : width;
  }
  __host__ __device__ explicit operator bool() const { return data; }
  // Null if the table has no such row.
  __device__ const T* row(int64_t index, int head) const {
    return index >= 0 && index < rows ? data + index * stride + head * step : nullptr;
  }
};

template <class T>
struct DevicePositionTerms {
  static constexpr int kUnlimited = 1 << 29;  // longer than any segment

  HeadTable<T> bias, query, key, value;  // one row per distance
  HeadTable<T> pos_queries, pos_keys;    // one row per position
  int zero_offset = 0, pos_width = 0, window = kUnlimited;
  bool active = false;  // whether there is a term, or the window is shorter than a segment

  DevicePositionTerms() = default;
  // `longest`: length of the longest segment of queries and keys.
  DevicePositionTerms(const AttentionPositionTerms& terms, const AttentionShape& shape, int64_t width, int longest)
      : bias(terms.bias, 1),
        query(terms.query_table, width),
        key(terms.key_table, width),
        value(terms.value_table, width),
        zero_offset(int(terms.zero_offset)),
        window(int(std::min<int64_t>(shape.window, kUnlimited))),
        active(terms || shape.window < longest - 1) {
    if (!terms.pos_queries) return;
    pos_width = int(terms.pos_queries.cols() / shape.heads);
    pos_queries = {terms.pos_queries, pos_width};
    pos_keys = {terms.pos_keys, pos_width};
  }
  __host__ __device__ explicit operator bool() const { return active; }
  // True if there are tables of vectors, not only a bias.
  bool has_vectors() const { return query || key || value || pos_queries; }

  __device__ T bias_of(int64_t distance, int head) const {
    const T* row = bias.row(zero_offset + distance, head);
    return row ? *row : T(0);
  }
};

}  // namespace gyre::cuda
