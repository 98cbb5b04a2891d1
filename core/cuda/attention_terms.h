// What order adds to attention (AttentionTerms) and how far it reaches, as kernels read them.
#pragma once

#include <algorithm>

#include "core/cuda/dispatch.h"

namespace gyre::cuda {

// Rows of distances or of places, in which every head has its columns; or all the same ones.
template <class T>
struct HeadTable {
  const T* data = nullptr;
  int64_t rows = 0, stride = 0, step = 0;  // from row to row, from head to head

  HeadTable() = default;
  HeadTable(const Tensor& table, int64_t width) {
    if (!table) return;
    data = table.data<T>();
    rows = table.rows();
    stride = table.cols();
    step = stride == width ? 0 : width;
  }
  __host__ __device__ explicit operator bool() const { return data; }
  // Null where there is none.
  __device__ const T* row(int64_t index, int head) const {
    return index >= 0 && index < rows ? data + index * stride + head * step : nullptr;
  }
};

template <class T>
struct OrderTerms {
  static constexpr int kFar = 1 << 29;  // further than any segment is long

  HeadTable<T> bias, query, key, value;   // by distance
  HeadTable<T> query_places, key_places;  // by place
  int zero = 0, place_width = 0, reach = kFar;
  bool some = false;  // anything to do

  OrderTerms() = default;
  // longest: of the segments of queries and keys.
  OrderTerms(const AttentionTerms& terms, const AttentionShape& shape, int64_t width, int longest)
      : bias(terms.bias, 1),
        query(terms.query_table, width),
        key(terms.key_table, width),
        value(terms.value_table, width),
        zero(int(terms.zero)),
        reach(int(std::min<int64_t>(shape.reach, kFar))),
        some(terms || shape.reach < longest - 1) {
    if (!terms.query_places) return;
    place_width = int(terms.query_places.cols() / shape.heads);
    query_places = {terms.query_places, place_width};
    key_places = {terms.key_places, place_width};
  }
  __host__ __device__ explicit operator bool() const { return some; }
  // Whether rows of tables are multiplied: by features, and not by a number alone.
  bool has_vectors() const { return query || key || value || query_places; }

  __device__ T bias_of(int64_t distance, int head) const {
    const T* row = bias.row(zero + distance, head);
    return row ? *row : T(0);
  }
};

}  // namespace gyre::cuda
