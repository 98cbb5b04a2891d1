// Products of few rows with the rows of a weight, as when texts are continued token by token. Their time is that of
// reading the weight: it is not packed, and each thread reads a contiguous part of it. A sum has 32 partial sums,
// whatever the size of the registers, so its bits are the same on any CPU with fused multiply-add.
#pragma once

#include <omp.h>

#include <algorithm>
#include <utility>

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

// Adds the upper half of the lanes to the lower one, then the upper quarter, and so on.
template <int64_t Half, size_t... I>
inline float sum_of_lanes(VectorOf<float>::type v, std::index_sequence<I...> lanes) {
  if constexpr (Half == 0) {
    return v[0];
  } else {
    v += __builtin_shufflevector(v, v, ((int64_t(I) + Half) % kLanes<float>)...);
    return sum_of_lanes<Half / 2>(v, lanes);
  }
}

inline float sum_of(const VectorOf<float>::type (&vectors)[kStepVectors]) {
  VectorOf<float>::type sums[kStepVectors];
  GYRE_UNROLL
  for (int j = 0; j < kStepVectors; ++j) sums[j] = vectors[j];
  GYRE_UNROLL
  for (int half = kStepVectors / 2; half > 0; half /= 2) {
    GYRE_UNROLL
    for (int j = 0; j < half; ++j) sums[j] += sums[j + half];
  }
  return sum_of_lanes<kLanes<float> / 2>(sums[0], std::make_index_sequence<size_t(kLanes<float>)>());
}

// Rows of a weight that a thread reads at the same time. They lie far apart: several streams get more bytes per second
// from memory than one, and than one of neighboring rows.
constexpr int kStreams = 3;
// The most vectors of sums that fit into the registers beside the operands. AVX2 has 16 registers, the others have 32.
constexpr int kMostSums = kVectorBytes == 32 ? 12 : 24;

// c(i, s * apart) = x(i, k) . row s * apart of w, for each of the rows of x and each stream s.
template <class T, int Rows, int Streams, class Source>
inline void dot_products(float* c, int64_t ldc, const float* x, const Source* w, int64_t stride, int64_t apart,
                         int64_t k) {
  VectorOf<float>::type sums[Streams][Rows][kStepVectors] = {};
  int64_t p = 0;
  for (; p + kStep <= k; p += kStep) {
    GYRE_UNROLL
    for (int j = 0; j < kStepVectors; ++j) {
      const int64_t at = p + j * kLanes<float>;
      GYRE_UNROLL
      for (int s = 0; s < Streams; ++s) {
        const auto weights = load_weights<T>(w + s * apart * stride + at);
        GYRE_UNROLL
        for (int i = 0; i < Rows; ++i) sums[s][i][j] += load_vector(x + i * k + at) * weights;
      }
    }
  }
  GYRE_UNROLL
  for (int s = 0; s < Streams; ++s) {
    GYRE_UNROLL
    for (int i = 0; i < Rows; ++i) {
      float sum = sum_of(sums[s][i]);
      for (int64_t rest = p; rest < k; ++rest) sum += x[i * k + rest] * float(T(w[s * apart * stride + rest]));
      c[i * ldc + s * apart] = sum;
    }
  }
}

// One thread's columns of C. If the sums of all rows of x do not fit into the registers, the weights are read for one
// row after the other: from memory for the first one, then from the cache.
template <class T, int Rows, class Source>
void few_rows_columns(float* c, int64_t ldc, const float* x, const Operand& weight, int64_t begin, int64_t end,
                      int64_t k) {
  constexpr int kAtOnce = Rows * kStreams * kStepVectors <= kMostSums ? Rows : 1;
  const Source* w = static_cast<const Source*>(weight.data);
  const int64_t stride = weight.stride, apart = (end - begin) / kStreams, rest = begin + apart * kStreams;
  for (int64_t j = begin; j < begin + apart; ++j) {
    for (int i = 0; i < Rows; i += kAtOnce)
      dot_products<T, kAtOnce, kStreams>(c + i * ldc + j, ldc, x + i * k, w + j * stride, stride, apart, k);
  }
  for (int64_t j = rest; j < end; ++j) {
    for (int i = 0; i < Rows; i += kAtOnce)
      dot_products<T, kAtOnce, 1>(c + i * ldc + j, ldc, x + i * k, w + j * stride, stride, 0, k);
  }
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
