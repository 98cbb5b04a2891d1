// Products of matrices that fit in cache: one head of one sentence. A general BLAS call costs more than they do.
// Written with vectors of the instruction set's register size: 64 bytes with AVX-512, 32 with AVX2, 16 without.
#pragma once

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

// A matrix whose elements are read one by one: element (i, k) at data[i * row + k * column].
template <class T>
struct Strided {
  const T* data;
  int64_t row, column;
};

// C(Rows, Vectors * lanes) = [C +] A(Rows, k) B(k, ...): all sums stay in registers.
template <class T, int Rows, int Vectors>
inline void small_gemm_tile(T* c, int64_t ldc, Strided<T> a, const T* b, int64_t ldb, int64_t k, bool accumulate) {
  using V = typename VectorOf<T>::type;
  V sum[Rows][Vectors];
  for (int i = 0; i < Rows; ++i) {
    for (int j = 0; j < Vectors; ++j) {
      sum[i][j] = accumulate ? *reinterpret_cast<const V*>(c + i * ldc + j * kLanes<T>) : V{};
    }
  }
  for (int64_t p = 0; p < k; ++p) {
    V right[Vectors];
    for (int j = 0; j < Vectors; ++j) right[j] = *reinterpret_cast<const V*>(b + p * ldb + j * kLanes<T>);
    for (int i = 0; i < Rows; ++i) {
      const T left = a.data[i * a.row + p * a.column];
      for (int j = 0; j < Vectors; ++j) sum[i][j] += left * right[j];
    }
  }
  for (int i = 0; i < Rows; ++i) {
    for (int j = 0; j < Vectors; ++j) *reinterpret_cast<V*>(c + i * ldc + j * kLanes<T>) = sum[i][j];
  }
}

template <class T, int Rows>
inline void small_gemm_rows(T* c, int64_t ldc, Strided<T> a, const T* b, int64_t ldb, int64_t n, int64_t k,
                            bool accumulate) {
  constexpr int64_t lanes = kLanes<T>;
  int64_t j = 0;
  for (; j + 2 * lanes <= n; j += 2 * lanes) small_gemm_tile<T, Rows, 2>(c + j, ldc, a, b + j, ldb, k, accumulate);
  if (j < n) small_gemm_tile<T, Rows, 1>(c + j, ldc, a, b + j, ldb, k, accumulate);
}

// C(m,n) = [C +] A(m,k) B(k,n); n a multiple of the lanes, rows of B and C contiguous.
template <class T>
void small_gemm(T* c, int64_t ldc, Strided<T> a, const T* b, int64_t ldb, int64_t m, int64_t n, int64_t k,
                bool accumulate) {
  int64_t i = 0;
  const auto rows = [&](int64_t at) { return Strided<T>{a.data + at * a.row, a.row, a.column}; };
  for (; i + 4 <= m; i += 4) small_gemm_rows<T, 4>(c + i * ldc, ldc, rows(i), b, ldb, n, k, accumulate);
  for (; i < m; ++i) small_gemm_rows<T, 1>(c + i * ldc, ldc, rows(i), b, ldb, n, k, accumulate);
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
