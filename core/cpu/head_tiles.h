// Copies one head's features between tensor rows (any dtype) and tiles (fp32, or fp64 for gradient checks).
#pragma once

#include "gyre/core/cpu/parallel.h"
#include "gyre/core/cpu/tile.h"
#include "gyre/core/cpu/transpose.h"
#include "gyre/core/kernels/kernels.h"

namespace gyre::GYRE_CPU_NAMESPACE {

// A strided view of rows of features: feature f of row i is at data + i * stride + f.
template <class D>
struct Rows {
  D* data = nullptr;
  int64_t stride = 0;
  D* at(int64_t row, int64_t feature) const { return data + row * stride + feature; }
  Rows block(int64_t row, int64_t feature) const { return {at(row, feature), stride}; }
  explicit operator bool() const { return data != nullptr; }
};

template <class D>
Rows<D> rows_of(const HeadColumns& columns) {
  if (!columns.rows) return {};
  return {columns.rows.data<D>() + columns.first, columns.rows.cols()};
}

// A view of rows that starts at feature f. In a tile, it is valid up to the end of f's chunk.
template <class D>
Rows<D> columns_from(const Rows<D>& rows, int64_t f) {
  return rows.block(0, f);
}
template <class T>
Rows<T> columns_from(const Tile<T>& tile, int64_t f) {
  return {&tile.element(0, f), kLanes<T>};
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
    const Wide bits = (Wide)x;  // rounded as in core/float16.h
    *reinterpret_cast<Bits*>(to) = __builtin_convertvector((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16, Bits);
  } else {
    *reinterpret_cast<V*>(to) = x;
  }
}

// Copies n rows of one vector of features each, or of one feature each.
template <class To, class From>
inline void copy_vectors(const Rows<To>& to, const Rows<From>& from, int64_t n) {
  for (int64_t i = 0; i < n; ++i) store_vector(to.at(i, 0), load_vector(from.at(i, 0)));
}
template <class To, class From>
inline void copy_features(const Rows<To>& to, const Rows<From>& from, int64_t n) {
  for (int64_t i = 0; i < n; ++i) *to.at(i, 0) = To(Compute<From>(*from.at(i, 0)));
}

// Copies features begin .. end - 1 of n rows between a tensor and a tile. The rest of a tile's last chunk is unchanged.
template <class T, class To, class From>
void copy_rows(const To& to, const From& from, int64_t n, int64_t begin, int64_t end) {
  const auto copy_one = [&](int64_t f) { copy_features(columns_from(to, f), columns_from(from, f), n); };
  for (; begin < end && begin % kLanes<T> != 0; ++begin) copy_one(begin);
  for (; begin + kLanes<T> <= end; begin += kLanes<T>)
    copy_vectors(columns_from(to, begin), columns_from(from, begin), n);
  for (; begin < end; ++begin) copy_one(begin);
}

// Row i of `to` = factors[i] * row i of the tile, i < n.
template <class D, class T>
void unpack_scaled(const Rows<D>& to, const Tile<T>& tile, int64_t n, int64_t width, const T* factors) {
  int64_t f = 0;
  for (; f + kLanes<T> <= width; f += kLanes<T>)
    for (int64_t i = 0; i < n; ++i) store_vector(to.at(i, f), factors[i] * tile.vector(i, f / kLanes<T>));
  for (; f < width; ++f)
    for (int64_t i = 0; i < n; ++i) *to.at(i, f) = D(factors[i] * tile.element(i, f));
}

// to(columns, n) = from(n, columns)^T. Reads and writes whole chunks of both.
template <class T>
void transpose_tile(Tile<T> to, Tile<T> from, int64_t n, int64_t columns) {
  constexpr int64_t lanes = kLanes<T>;
  for (int64_t i = 0; i < n; i += lanes) {
    for (int64_t j = 0; j < columns; j += lanes) {
      typename Tile<T>::Vector block[lanes];
      GYRE_UNROLL
      for (int64_t l = 0; l < lanes; ++l) block[l] = from.vector(i + l, j / lanes);
      transpose<T>(block);
      GYRE_UNROLL
      for (int64_t l = 0; l < lanes; ++l) to.vector(j + l, i / lanes) = block[l];
    }
  }
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
