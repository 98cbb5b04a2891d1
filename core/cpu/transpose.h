// Transposes of square blocks in registers: lanes x lanes, in log2(lanes) rounds of two-vector shuffles.
#pragma once

#include <cstdint>
#include <utility>

#include "gyre/core/cpu/tile.h"

namespace gyre::GYRE_CPU_NAMESPACE {

// Swaps the off-diagonal blocks of `size` lanes between rows a and b, which are `size` rows apart.
template <class T, int64_t size, size_t... I>
inline void swap_blocks(typename VectorOf<T>::type& a, typename VectorOf<T>::type& b, std::index_sequence<I...>) {
  constexpr int64_t lanes = kLanes<T>;
  const auto upper = __builtin_shufflevector(a, b, (int64_t(I) & size ? lanes + int64_t(I) - size : int64_t(I))...);
  b = __builtin_shufflevector(a, b, (int64_t(I) & size ? lanes + int64_t(I) : int64_t(I) + size)...);
  a = upper;
}

// rows[i][j] becomes rows[j][i].
template <class T, int64_t size = kLanes<T> / 2>
inline void transpose(typename VectorOf<T>::type (&rows)[kLanes<T>]) {
  constexpr int64_t lanes = kLanes<T>;
  GYRE_UNROLL
  for (int64_t i = 0; i < lanes; ++i) {
    if (!(i & size)) swap_blocks<T, size>(rows[i], rows[i + size], std::make_index_sequence<size_t(lanes)>());
  }
  if constexpr (size > 1) transpose<T, size / 2>(rows);
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
