// The way of a head's features between the rows of a tensor, of any type, and tiles: fp32, or fp64 for gradient checks.
#pragma once

#include "core/cpu/parallel.h"
#include "core/cpu/small_gemm.h"
#include "core/cpu/transpose.h"
#include "core/kernels.h"

namespace gyre::GYRE_CPU_NAMESPACE {

// Where a head's features lie: row i at data + i * stride.
template <class D>
struct Rows {
  D* data = nullptr;
  int64_t stride = 0;
  D* at(int64_t row, int64_t feature) const { return data + row * stride + feature; }
  explicit operator bool() const { return data != nullptr; }
};

template <class D>
Rows<D> rows_of(const HeadColumns& columns) {
  if (!columns.rows) return {};
  return {columns.rows.data<D>() + columns.first, columns.rows.cols()};
}

template <class D>
inline typename VectorOf<Compute<D>>::type load_vector(const D* from) {
  using V = typename VectorOf<Compute<D>>::type;
  if constexpr (std::is_same_v<D, bfloat16>) {
    typedef uint16_t Bits __attribute__((vector_size(kVectorBytes / 2), aligned(2), may_alias));
    using Wide = typename VectorOf<uint32_t>::type;
    return (V)(__builtin_convertvector(*reinterpret_cast<const Bits*>(from), Wide) << 16);
  } else {
    return *reinterpret_cast<const V*>(from);
  }
}

template <class D>
inline void store_vector(D* to, typename VectorOf<Compute<D>>::type x) {
  using V = typename VectorOf<Compute<D>>::type;
  if constexpr (std::is_same_v<D, bfloat16>) {
    typedef uint16_t Bits __attribute__((vector_size(kVectorBytes / 2), aligned(2), may_alias));
    using Wide = typename VectorOf<uint32_t>::type;
    const Wide bits = (Wide)x;  // rounded as in core/bfloat16.h
    *reinterpret_cast<Bits*>(to) = __builtin_convertvector((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16, Bits);
  } else {
    *reinterpret_cast<V*>(to) = x;
  }
}

// The same head of the next segment is needed soon: its rows, if it is as long, are fetched while this one is worked
// on. A longer segment has work enough to hide its loads.
inline int64_t prefetch_distance(int64_t stride, int64_t n) { return n <= 64 ? n * stride : 0; }

// tile(n, width) = n rows from `from` on. What lies beyond the width in the last chunk is left as it was.
template <class D>
void pack(Tile<Compute<D>> tile, const D* from, int64_t stride, int64_t n, int64_t width) {
  using C = Compute<D>;
  constexpr int64_t lanes = kLanes<C>;
  const int64_t ahead = prefetch_distance(stride, n);
  for (int64_t i = 0; i < n; ++i, from += stride) {
    int64_t j = 0;
    for (; j + lanes <= width; j += lanes) {
      __builtin_prefetch(from + j + ahead);
      tile.vector(i, j / lanes) = load_vector(from + j);
    }
    for (; j < width; ++j) tile.element(i, j) = C(from[j]);
  }
}

// n rows of `to` = factor(i) * tile(n, width)
template <class D, class F>
void unpack(D* to, int64_t stride, Tile<Compute<D>> tile, int64_t n, int64_t width, const F& factor) {
  constexpr int64_t lanes = kLanes<Compute<D>>;
  const int64_t ahead = prefetch_distance(stride, n);
  for (int64_t i = 0; i < n; ++i, to += stride) {
    const Compute<D> f = factor(i);
    int64_t j = 0;
    for (; j + lanes <= width; j += lanes) {
      __builtin_prefetch(to + j + ahead, 1);
      store_vector(to + j, f * tile.vector(i, j / lanes));
    }
    for (; j < width; ++j) to[j] = D(f * tile.element(i, j));
  }
}

template <class D>
void unpack(D* to, int64_t stride, Tile<Compute<D>> tile, int64_t n, int64_t width) {
  unpack(to, stride, tile, n, width, [](int64_t) { return Compute<D>(1); });
}

// to(columns, n) = from(n, columns)^T, in whole chunks of both.
template <class T>
void transpose_tile(Tile<T> to, Tile<T> from, int64_t n, int64_t columns) {
  constexpr int64_t lanes = kLanes<T>;
  for (int64_t i = 0; i < n; i += lanes) {
    for (int64_t j = 0; j < columns; j += lanes) {
      typename Tile<T>::Vector block[lanes];
#pragma GCC unroll 16
      for (int64_t l = 0; l < lanes; ++l) block[l] = from.vector(i + l, j / lanes);
      transpose<T>(block);
#pragma GCC unroll 16
      for (int64_t l = 0; l < lanes; ++l) to.vector(j + l, i / lanes) = block[l];
    }
  }
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
