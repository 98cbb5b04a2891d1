// Products of few rows with the rows of a weight, as when texts are continued token by token. Their time is that of
// reading the weight: it is not packed, and each thread reads a contiguous part of it. A sum has 32 partial sums,
// whatever the size of the registers, so its bits are the same on any CPU with fused multiply-add.
#pragma once

#include <omp.h>

#include <algorithm>
#include <cstring>

#include "gyre/core/cpu/gemm/gemm_pack.h"
#include "gyre/core/cpu/head_tiles.h"
#include "gyre/core/memory.h"

namespace gyre::GYRE_CPU_NAMESPACE {

constexpr int64_t kFewRows = 4;

// A step of a sum: 32 numbers, in two to eight registers.
constexpr int64_t kStep = 32;
constexpr int kStepVectors = int(kStep / kLanes<float>);

// Loads weights as operands of type T: f32 weights of a bf16 product are rounded.
template <class T, class Source>
inline VectorOf<float>::type load_weights(const Source* from) {
  if constexpr (std::is_same_v<T, bfloat16> && std::is_same_v<Source, float>) {
    return (VectorOf<float>::type)round_to_upper_half(*reinterpret_cast<const VectorOf<uint32_t>::type*>(from));
  } else {
    return load_vector(from);
  }
}

inline float sum_of(const VectorOf<float>::type (&vectors)[kStepVectors]) {
  alignas(kVectorBytes) float lanes[kStep];
  std::memcpy(lanes, vectors, sizeof lanes);
  for (int64_t half = kStep / 2; half > 0; half /= 2)
    for (int64_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  return lanes[0];
}

// c(i, 0) = x(i, k) . w(k) for each of the rows.
template <class T, int Rows, class Source>
inline void dot_products(float* c, int64_t ldc, const float* x, const Source* w, int64_t k) {
  VectorOf<float>::type sums[Rows][kStepVectors] = {};
  int64_t p = 0;
  for (; p + kStep <= k; p += kStep) {
    GYRE_UNROLL
    for (int j = 0; j < kStepVectors; ++j) {
      const int64_t at = p + j * kLanes<float>;
      const auto weights = load_weights<T>(w + at);
      GYRE_UNROLL
      for (int i = 0; i < Rows; ++i) sums[i][j] += load_vector(x + i * k + at) * weights;
    }
  }
  for (int i = 0; i < Rows; ++i) {
    float sum = sum_of(sums[i]);
    for (int64_t rest = p; rest < k; ++rest) sum += x[i * k + rest] * float(T(w[rest]));
    c[i * ldc] = sum;
  }
}

// One thread's columns of C.
template <class T, int Rows, class Source>
void few_rows_columns(float* c, int64_t ldc, const float* x, const Operand& weight, int64_t begin, int64_t end,
                      int64_t k) {
  const Source* w = static_cast<const Source*>(weight.data);
  for (int64_t j = begin; j < end; ++j) dot_products<T, Rows>(c + j, ldc, x, w + j * weight.stride, k);
}

template <class T, class Source>
constexpr auto few_rows_function(int64_t rows) {
  return rows == 1   ? few_rows_columns<T, 1, Source>
         : rows == 2 ? few_rows_columns<T, 2, Source>
         : rows == 3 ? few_rows_columns<T, 3, Source>
                     : few_rows_columns<T, 4, Source>;
}

template <class T>
bool has_few_rows(const ProductShape& shape, const Operand& a, const Operand& b, const Sums<T>& sums) {
  return shape.m <= kFewRows && shape.k > 0 && !a.summed_major && !b.summed_major && !sums.accumulate;
}

// Copies the rows as f32.
template <class T>
void copy_rows_as_floats(float* to, const Operand& rows, int64_t count, int64_t k) {
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t p = 0; p < k; ++p) {
      const int64_t from = i * rows.stride + p;
      to[i * k + p] = rows.dtype == DType::f32 ? float(T(static_cast<const float*>(rows.data)[from]))
                                               : float(static_cast<const T*>(rows.data)[from]);
    }
  }
}

// gemm() for few rows, of type float or bfloat16.
template <class T>
void few_rows_product(const ProductShape& shape, const Operand& a, const Operand& b, const Sums<T>& sums,
                      const Finish<T>& finish) {
  constexpr int64_t kWorthThreads = 1 << 17;  // multiply-adds
  const int64_t m = shape.m, n = shape.n, k = shape.k;
  const auto place = allocate(size_t(m * (k + (sums.c ? 0 : n))) * sizeof(float));
  auto* x = static_cast<float*>(place.get());
  copy_rows_as_floats<T>(x, a, m, k);
  float* c = sums.c ? sums.c : x + m * k;
  const int64_t ldc = sums.c ? sums.ldc : n;
  const bool is_f32 = b.dtype == DType::f32;
  const auto columns = is_f32 ? few_rows_function<T, float>(m) : few_rows_function<T, T>(m);
  const int threads = m * n * k > kWorthThreads && !omp_in_parallel() ? omp_get_max_threads() : 1;
#pragma omp parallel num_threads(threads)
  {
    const int64_t begin = n * omp_get_thread_num() / omp_get_num_threads();
    const int64_t end = n * (omp_get_thread_num() + 1) / omp_get_num_threads();
    if (begin < end) columns(c, ldc, x, b, begin, end, k);
    if (begin < end && finish) finish(c + begin, ldc, {0, m, begin, end - begin});
  }
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
