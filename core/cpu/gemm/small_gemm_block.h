// The inner kernels of products of small matrices (small_gemm.h): one block of C, with all sums in registers. Each sum
// runs over the summed index in order.
#pragma once

#ifdef __AVX512F__
#include <immintrin.h>
#define GYRE_DOT_PRODUCT_TARGET gnu::target("avx512bf16")
#elif defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
#include <arm_neon.h>
#define GYRE_DOT_PRODUCT_TARGET
#endif

#include <algorithm>
#include <cstdint>

#include "gyre/core/cpu/bf16_pairs.h"
#include "gyre/core/cpu/gemm/bf16_dot.h"
#include "gyre/core/cpu/tile.h"
#include "gyre/core/kernels/kernels.h"

namespace gyre::GYRE_CPU_NAMESPACE {

// The first element of an operand and the distance between its chunks.
template <class T>
struct Chunks {
  T* data;
  int64_t stride;
};

// The type of the sums. Factors of type uint32_t are pairs of bf16 (bf16_pairs.h).
template <class T>
using SumOf = std::conditional_t<std::is_same_v<T, uint32_t>, float, T>;
template <class T>
using SumsVector = typename VectorOf<SumOf<T>>::type;

// c = [c +] sums. Always inlined, so that the sums stay in registers.
template <class T, int Rows, int Vectors>
[[gnu::always_inline]] inline void store_block(Chunks<SumOf<T>> c, const SumsVector<T> (&sums)[Rows][Vectors],
                                               bool accumulate) {
  GYRE_UNROLL
  for (int i = 0; i < Rows; ++i) {
    GYRE_UNROLL
    for (int j = 0; j < Vectors; ++j) {
      auto& to = *reinterpret_cast<SumsVector<T>*>(c.data + i * kLanes<T> + j * c.stride);
      to = accumulate ? to + sums[i][j] : sums[i][j];
    }
  }
}

// C(Rows, Vectors) = [C +] A B. If `transposed`, A is given as (k, Rows).
template <class T, int Rows, int Vectors, bool transposed>
void multiply_block(Chunks<T> c, Chunks<const T> a, Chunks<const T> b, int64_t k, bool accumulate) {
  using V = typename VectorOf<T>::type;
  constexpr int64_t lanes = kLanes<T>;
  V sums[Rows][Vectors] = {};
  const auto add_products = [&](const T* left) {
    V right[Vectors];
    GYRE_UNROLL
    for (int j = 0; j < Vectors; ++j) right[j] = *reinterpret_cast<const V*>(b.data + j * b.stride);
    GYRE_UNROLL
    for (int i = 0; i < Rows; ++i) {
      GYRE_UNROLL
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
  store_block<T, Rows, Vectors>(c, sums, accumulate);
}

#ifdef GYRE_DOT_PRODUCT_TARGET
// Adds the dot products of the pair `left` and of each pair of a vector.
[[GYRE_DOT_PRODUCT_TARGET, gnu::always_inline]] inline SumsVector<uint32_t> add_dot_products(SumsVector<uint32_t> sums,
                                                                                             uint32_t left,
                                                                                             const uint32_t* right) {
#ifdef __AVX512F__
  return _mm512_dpbf16_ps(sums, (__m512bh)_mm512_set1_epi32(int(left)), (__m512bh)_mm512_loadu_si512(right));
#else
  return SumsVector<uint32_t>(vbfdotq_f32(float32x4_t(sums), vreinterpretq_bf16_u32(vdupq_n_u32(left)),
                                          vreinterpretq_bf16_u32(vld1q_u32(right))));
#endif
}

// The version for pairs of bf16. k is the number of pairs. Requires the instruction.
template <int Rows, int Vectors, bool transposed>
[[GYRE_DOT_PRODUCT_TARGET]] void multiply_block_by_dot_products(Chunks<float> c, Chunks<const uint32_t> a,
                                                                Chunks<const uint32_t> b, int64_t k, bool accumulate) {
  constexpr int64_t lanes = kLanes<uint32_t>;
  SumsVector<uint32_t> sums[Rows][Vectors] = {};
  for (; k > 0; k -= lanes, a.data += transposed ? lanes * lanes : a.stride) {
    const uint32_t* left = a.data;
    for (int64_t p = std::min(k, lanes); p > 0; --p, left += transposed ? lanes : 1, b.data += lanes) {
      GYRE_UNROLL
      for (int i = 0; i < Rows; ++i) {
        GYRE_UNROLL
        for (int j = 0; j < Vectors; ++j)
          sums[i][j] = add_dot_products(sums[i][j], left[transposed ? i : i * lanes], b.data + j * b.stride);
      }
    }
  }
  store_block<uint32_t, Rows, Vectors>(c, sums, accumulate);
}
#endif

// Dispatches blocks of bf16 pairs to the instruction or its emulation.
template <class T, int Rows, int Vectors, bool transposed>
void multiply_block(Chunks<float> c, Chunks<const uint32_t> a, Chunks<const uint32_t> b, int64_t k, bool accumulate) {
  static_assert(std::is_same_v<T, uint32_t>);
#ifdef GYRE_DOT_PRODUCT_TARGET
  if (!emulates_bf16()) return multiply_block_by_dot_products<Rows, Vectors, transposed>(c, a, b, k, accumulate);
#endif
  constexpr int64_t lanes = kLanes<uint32_t>;
  SumsVector<uint32_t> sums[Rows][Vectors] = {};
  for (int64_t p = 0; p < k; ++p) {
    const uint32_t* left = a.data + (transposed ? p * lanes : p / lanes * a.stride + p % lanes);
    for (int64_t i = 0; i < Rows; ++i) {
      for (int64_t column = 0; column < Vectors * lanes; ++column) {
        const int64_t j = column / lanes, lane = column % lanes;
        const uint32_t right = b.data[j * b.stride + p * lanes + lane], factor = left[transposed ? i : i * lanes];
        sums[i][j][lane] = add_emulated_dot_product(sums[i][j][lane], factor, right);
      }
    }
  }
  store_block<uint32_t, Rows, Vectors>(c, sums, accumulate);
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
