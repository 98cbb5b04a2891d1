// Products of matrices that fit in cache: one head of one sentence. A general BLAS call costs more than they do.
// Written with vectors of the instruction set's register size: 64 bytes with AVX-512, 32 with AVX2, 16 without.
#pragma once

#include <algorithm>
#include <cstdint>

namespace gyre::GYRE_CPU_NAMESPACE {

constexpr int64_t kVectorBytes = __BIGGEST_ALIGNMENT__;  // GCC's name for the register size of -march

template <class T>
constexpr int64_t kLanes = kVectorBytes / int64_t(sizeof(T));

inline int64_t round_up(int64_t n, int64_t multiple) { return (n + multiple - 1) / multiple * multiple; }

template <class T>
struct VectorOf {
  typedef T type __attribute__((vector_size(kVectorBytes), aligned(alignof(T)), may_alias));
};

// A matrix in chunks of as many columns as a vector has lanes. The rows of a chunk follow one another, so that each
// distance inside a product is a constant, and a block of lanes x lanes transposes in registers.
template <class T>
struct Tile {
  using Vector = typename VectorOf<T>::type;
  T* data = nullptr;
  int64_t rows = 0;  // that there is room for: an even number

  int64_t chunk_elements() const { return rows * kLanes<T>; }
  T* at(int64_t row, int64_t chunk) const { return data + chunk * chunk_elements() + row * kLanes<T>; }
  T& element(int64_t row, int64_t column) const { return at(row, column / kLanes<T>)[column % kLanes<T>]; }
  Vector& vector(int64_t row, int64_t chunk) const { return *reinterpret_cast<Vector*>(at(row, chunk)); }
  Vector* vectors(int64_t chunk) const { return reinterpret_cast<Vector*>(at(0, chunk)); }
};

// Rows of a block: with two vectors a row the sums fill 28 of AVX-512's 32 registers, or 12 of the others' 16.
constexpr int64_t kBlockRows = kVectorBytes == 64 ? 14 : 6;

// The first element of an operand and the distance between its chunks.
template <class T>
struct Chunks {
  T* data;
  int64_t stride;
};

// C(Rows, Vectors) = [C +] A B with all sums in registers; `transposed`: A(k, Rows) is read column by column.
template <class T, int Rows, int Vectors, bool transposed>
void multiply_block(Chunks<T> c, Chunks<const T> a, Chunks<const T> b, int64_t k, bool accumulate) {
  using V = typename VectorOf<T>::type;
  constexpr int64_t lanes = kLanes<T>;
  V sums[Rows][Vectors] = {};
  const auto add_products = [&](const T* left) {
    V right[Vectors];
#pragma GCC unroll 2
    for (int j = 0; j < Vectors; ++j) right[j] = *reinterpret_cast<const V*>(b.data + j * b.stride);
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 2
      for (int j = 0; j < Vectors; ++j) sums[i][j] += left[transposed ? i : i * lanes] * right[j];
    }
    b.data += lanes;
  };
  if constexpr (transposed) {
    for (int64_t p = 0; p < k; ++p) add_products(a.data + p * lanes);
  } else {
    for (; k > 0; k -= lanes, a.data += a.stride) {
      for (int64_t p = 0; p < std::min(k, lanes); ++p) add_products(a.data + p);
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 2
    for (int j = 0; j < Vectors; ++j) {
      V& to = *reinterpret_cast<V*>(c.data + i * lanes + j * c.stride);
      to = accumulate ? to + sums[i][j] : sums[i][j];
    }
  }
}

// The same for up to Rows rows: of blocks with an even number of rows the smallest that holds them.
template <class T, int Vectors, bool transposed, int Rows = int(kBlockRows)>
void multiply_rows(int64_t rows, Chunks<T> c, Chunks<const T> a, Chunks<const T> b, int64_t k, bool accumulate) {
  if constexpr (Rows > 2) {
    if (rows <= Rows - 2) return multiply_rows<T, Vectors, transposed, Rows - 2>(rows, c, a, b, k, accumulate);
  }
  multiply_block<T, Rows, Vectors, transposed>(c, a, b, k, accumulate);
}

// Calls f(first, count) for `rows` rows from `begin` on in blocks of nearly equal size.
template <class F>
void for_each_block(int64_t begin, int64_t rows, const F& f) {
  const int64_t blocks = (rows + kBlockRows - 1) / kBlockRows;
  const int64_t size = blocks > 0 ? round_up((rows + blocks - 1) / blocks, 2) : 0;
  for (int64_t i = 0; i < rows; i += size) f(begin + i, std::min(size, rows - i));
}

// C(m,n) = [C +] A(m,k) B(k,n), or A(k,m)^T B(k,n); n in whole chunks. Rows of C beyond m may be written up to an even
// number.
template <bool transposed, class T>
void multiply(Tile<T> c, Tile<T> a, Tile<T> b, int64_t m, int64_t chunks, int64_t k, bool accumulate) {
  constexpr int64_t lanes = kLanes<T>;
  for (int64_t chunk = 0; chunk < chunks; chunk += 2) {
    const Chunks<const T> right{b.at(0, chunk), b.chunk_elements()};
    const auto block = [&](int64_t i, int64_t rows) {
      const Chunks<T> to{c.at(i, chunk), c.chunk_elements()};
      const Chunks<const T> left{transposed ? a.at(0, i / lanes) + i % lanes : a.at(i, 0), a.chunk_elements()};
      if (chunk + 1 < chunks) {
        multiply_rows<T, 2, transposed>(rows, to, left, right, k, accumulate);
      } else {
        multiply_rows<T, 1, transposed>(rows, to, left, right, k, accumulate);
      }
    };
    if constexpr (transposed) {
      for (int64_t i = 0; i < m; i += lanes) for_each_block(i, std::min(lanes, m - i), block);
    } else {
      for_each_block(0, m, block);
    }
  }
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
