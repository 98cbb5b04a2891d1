// Transposes of square blocks in registers: lanes x lanes. Every shuffle is one instruction of AVX, AVX-512 or
// NEON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "gyre/core/cpu/tile.h"

namespace gyre::GYRE_CPU_NAMESPACE {

// Vectors consist of parts of 16 bytes: four numbers, or two.
template <class T>
constexpr int64_t kPartLanes = 16 / int64_t(sizeof(T));
constexpr int64_t kParts = kVectorBytes / 16;

// Interleaves the lower halves of each part of a and b, or the upper halves.
template <class T, bool upper, size_t... I>
inline typename VectorOf<T>::type interleave(typename VectorOf<T>::type a, typename VectorOf<T>::type b,
                                             std::index_sequence<I...>) {
  constexpr int64_t part = kPartLanes<T>;
  return __builtin_shufflevector(
      a, b,
      (int64_t(I) / part * part + (upper ? part / 2 : 0) + int64_t(I) % part / 2 + int64_t(I) % 2 * kLanes<T>)...);
}
template <class T, bool upper>
inline typename VectorOf<T>::type interleave(typename VectorOf<T>::type a, typename VectorOf<T>::type b) {
  return interleave<T, upper>(a, b, std::make_index_sequence<size_t(kLanes<T>)>());
}

// The even parts of a, followed by the even parts of b; or the odd parts.
template <class T, bool odd, size_t... I>
inline typename VectorOf<T>::type choose_parts(typename VectorOf<T>::type a, typename VectorOf<T>::type b,
                                               std::index_sequence<I...>) {
  constexpr int64_t part = kPartLanes<T>;
  return __builtin_shufflevector(a, b, ((2 * (int64_t(I) / part) + odd) * part + int64_t(I) % part)...);
}
template <class T, bool odd>
inline typename VectorOf<T>::type choose_parts(typename VectorOf<T>::type a, typename VectorOf<T>::type b) {
  return choose_parts<T, odd>(a, b, std::make_index_sequence<size_t(kLanes<T>)>());
}

// Transposes each part of kPartLanes rows.
template <class T>
inline void transpose_parts(typename VectorOf<T>::type* rows) {
  using Vector = typename VectorOf<T>::type;
  const auto interleave_rows = [&]<class Element>(Element, int64_t first, int64_t second) {
    using V = typename VectorOf<Element>::type;
    const auto a = (V)rows[first], b = (V)rows[second];
    rows[first] = (Vector)interleave<Element, false>(a, b);
    rows[second] = (Vector)interleave<Element, true>(a, b);
  };
  static_assert(kPartLanes<T> == 4 || kPartLanes<T> == 2);
  interleave_rows(T{}, 0, 1);
  if constexpr (kPartLanes<T> == 4) {
    interleave_rows(T{}, 2, 3);
    interleave_rows(double{}, 0, 2);
    interleave_rows(double{}, 1, 3);
    const Vector middle = rows[1];
    rows[1] = rows[2];
    rows[2] = middle;
  }
}

// rows[i][j] becomes rows[j][i].
template <class T>
inline void transpose(typename VectorOf<T>::type (&rows)[kLanes<T>]) {
  constexpr int64_t part = kPartLanes<T>;
  GYRE_UNROLL
  for (int64_t i = 0; i < kLanes<T>; i += part) transpose_parts<T>(rows + i);
  const auto choose_rows = [&](int64_t first, int64_t second) {
    const auto a = rows[first], b = rows[second];
    rows[first] = choose_parts<T, false>(a, b);
    rows[second] = choose_parts<T, true>(a, b);
  };
  // Transposes blocks of kParts x kParts parts.
  GYRE_UNROLL
  for (int64_t i = 0; i < part; ++i) {
    if constexpr (kParts >= 2) choose_rows(i, part + i);
    if constexpr (kParts == 4) {
      choose_rows(2 * part + i, 3 * part + i);
      choose_rows(i, 2 * part + i);
      choose_rows(part + i, 3 * part + i);
    }
  }
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
