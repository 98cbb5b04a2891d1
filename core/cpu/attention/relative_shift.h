// Relative shift between tiles of scores(keys, queries) and tiles indexed by distance. The score of key j and the query
// in lane l has distance j - l, so that each lane is shifted by one row against its neighbor. Lanes are shifted by
// powers of two, in log2(lanes) passes with one blend per vector.
#pragma once

#include <type_traits>
#include <utility>

#include "gyre/core/cpu/gemm/small_gemm.h"
#include "gyre/core/cpu/transpose.h"

namespace gyre::GYRE_CPU_NAMESPACE {

// Views of a tile that begin at row `row`, or at chunk `chunk`.
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
  using Index = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;  // integers of the size of T
  using Indices = typename VectorOf<Index>::type;

  static constexpr Indices all() { return make(std::make_index_sequence<size_t(kLanes<T>)>()); }

 private:
  template <size_t... I>
  static constexpr Indices make(std::index_sequence<I...>) {
    return Indices{Index(I)...};
  }
};

// In lane l, moves row r + (lanes - 1 - l) to row r, for n rows r. Reads lanes - 1 further rows.
template <class T>
void shift_rows(typename Tile<T>::Vector* rows, int64_t n) {
  const auto lane = LaneNumbers<T>::all();
  for (int64_t step = kLanes<T> / 2; step > 0; step /= 2) {
    const auto stays = (lane & typename LaneNumbers<T>::Index(step)) != 0;
    const int64_t needed = n + step - 1;  // rows that the following steps read
    for (int64_t r = 0; r < needed; ++r) rows[r] = stays ? rows[r] : rows[r + step];
  }
}

// The inverse of shift_rows(): in lane l, moves row r to row r + (lanes - 1 - l), for n rows r. The lanes - 1 rows
// after them must be zero.
template <class T>
void unshift_rows(typename Tile<T>::Vector* rows, int64_t n) {
  const auto lane = LaneNumbers<T>::all();
  for (int64_t step = 1; step < kLanes<T>; step *= 2) {
    const auto stays = (lane & typename LaneNumbers<T>::Index(step)) != 0;
    for (int64_t r = n + 2 * step - 2; r >= 0; --r) {
      const auto above = r >= step ? rows[r - step] : typename Tile<T>::Vector{};
      rows[r] = stays ? rows[r] : above;
    }
  }
}

// The lanes below `count` of x; the others are set to zero, even if they are not finite.
template <class T>
typename Tile<T>::Vector first_lanes(typename Tile<T>::Vector x, int64_t count) {
  const auto kept = LaneNumbers<T>::all() < typename LaneNumbers<T>::Index(count);
  return kept ? x : typename Tile<T>::Vector{};
}

// Lanes shift .. shift + lanes - 1 of the concatenation of two vectors; 0 <= shift <= lanes.
template <class T>
typename Tile<T>::Vector lanes_between(typename Tile<T>::Vector left, typename Tile<T>::Vector right, int64_t shift) {
#ifdef __clang__  // lacks shuffles with variable indices
  const typename Tile<T>::Vector both[2] = {left, right};
  return *reinterpret_cast<const typename Tile<T>::Vector*>(reinterpret_cast<const T*>(both) + shift);
#else
  return __builtin_shuffle(left, right, LaneNumbers<T>::all() + typename LaneNumbers<T>::Index(shift));
#endif
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
