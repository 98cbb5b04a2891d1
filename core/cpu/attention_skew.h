// Tiles of scores(keys, queries) beside tiles by distance. Between them lies a skew: the score of key j and the query
// in lane l has distance j - l, so that a column goes down one row less than its left neighbour's. Lanes move by whole
// powers of two: log2(lanes) passes of one blend for each vector.
#pragma once

#include <utility>

#include "core/cpu/small_gemm.h"
#include "core/cpu/transpose.h"

namespace gyre::GYRE_CPU_NAMESPACE {

// The last `rows` rows of a tile, from `row` on; its columns from chunk `chunk` on.
template <class T>
Tile<T> rows_from(Tile<T> tile, int64_t row) {
  return {tile.data + row * kLanes<T>, tile.rows};
}
template <class T>
Tile<T> chunks_from(Tile<T> tile, int64_t chunk) {
  return {tile.data + chunk * tile.chunk_elements(), tile.rows};
}

template <class T>
struct LaneNumbers {
  using Index = ShuffleIndex<T>;
  using Indices = typename VectorOf<Index>::type;

  static constexpr Indices all() { return make(std::make_index_sequence<size_t(kLanes<T>)>()); }

 private:
  template <size_t... I>
  static constexpr Indices make(std::index_sequence<I...>) {
    return Indices{Index(I)...};
  }
};

// Row r of lane l becomes what row r + (lanes - 1 - l) was; n rows, of which lanes - 1 more are read.
template <class T>
void skew_rows(typename Tile<T>::Vector* rows, int64_t n) {
  const auto lane = LaneNumbers<T>::all();
  for (int64_t step = kLanes<T> / 2; step > 0; step /= 2) {
    const auto stays = (lane & typename LaneNumbers<T>::Index(step)) != 0;
    const int64_t needed = n + step - 1;  // by the steps to come
    for (int64_t r = 0; r < needed; ++r) rows[r] = stays ? rows[r] : rows[r + step];
  }
}

// The way back: row r + (lanes - 1 - l) of lane l becomes what row r was; n rows, and lanes - 1 rows of zeros below.
template <class T>
void unskew_rows(typename Tile<T>::Vector* rows, int64_t n) {
  const auto lane = LaneNumbers<T>::all();
  for (int64_t step = 1; step < kLanes<T>; step *= 2) {
    const auto stays = (lane & typename LaneNumbers<T>::Index(step)) != 0;
    for (int64_t r = n + 2 * step - 2; r >= 0; --r) {
      const auto above = r >= step ? rows[r - step] : typename Tile<T>::Vector{};
      rows[r] = stays ? rows[r] : above;
    }
  }
}

// Lanes below `count`; the others are zero, whatever they held.
template <class T>
typename Tile<T>::Vector first_lanes(typename Tile<T>::Vector x, int64_t count) {
  const auto kept = LaneNumbers<T>::all() < typename LaneNumbers<T>::Index(count);
  return kept ? x : typename Tile<T>::Vector{};
}

// Lanes shift .. shift + lanes - 1 of two vectors side by side; 0 <= shift <= lanes.
template <class T>
typename Tile<T>::Vector lanes_between(typename Tile<T>::Vector left, typename Tile<T>::Vector right, int64_t shift) {
  return __builtin_shuffle(left, right, LaneNumbers<T>::all() + typename LaneNumbers<T>::Index(shift));
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
