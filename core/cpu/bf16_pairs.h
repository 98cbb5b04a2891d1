// Pairs of bf16 in 32 bits, the operands of dot products of bf16: the first number is in the lower half. fp32 numbers
// are rounded to nearest even as core/float16.h does, but FastRounding treats subnormal numbers and NaN differently.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "gyre/core/cpu/vector_type.h"
#include "gyre/core/float16.h"

namespace gyre::GYRE_CPU_NAMESPACE {

// The type that factors of type T are packed in for a product.
template <class T>
using Packed = std::conditional_t<std::is_same_v<T, bfloat16>, uint32_t, T>;
// The number of neighbors along the summed index in one packed element.
template <class T>
constexpr int64_t kSummedPerElement = std::is_same_v<T, bfloat16> ? 2 : 1;

// The number of packed elements that hold `summed` numbers.
template <class T>
constexpr int64_t packed_elements(int64_t summed) {
  return (summed + kSummedPerElement<T> - 1) / kSummedPerElement<T>;
}

using PairVector = VectorOf<uint32_t>::type;

inline uint32_t bf16_pair(bfloat16 low, bfloat16 high) { return uint32_t(low.bits) | uint32_t(high.bits) << 16; }

// Rounds fp32 numbers to bf16. The result is in the upper halves.
template <class V>
inline V round_to_upper_half(V bits) {
  return (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000;
}

// The pairs (low[i], high[i]) of two vectors of fp32 numbers.
template <class V>
inline PairVector round_pairs(V low, V high) {
  return (round_to_upper_half((PairVector)low) >> 16) | round_to_upper_half((PairVector)high);
}

// The pairs of neighbors in two consecutive vectors of fp32 numbers.
template <class V, size_t... I>
inline PairVector round_neighbors(V first, V second, std::index_sequence<I...>) {
  return round_pairs(__builtin_shufflevector(first, second, 2 * I...),
                     __builtin_shufflevector(first, second, (2 * I + 1)...));
}
template <class V>
inline PairVector round_neighbors(V first, V second) {
  return round_neighbors(first, second, std::make_index_sequence<size_t(kLanes<uint32_t>)>());
}

// Rounds the fp32 operands of products of bf16 by integer operations, which any CPU has.
struct PortableRounding {
  template <class V>
  static PairVector neighbors(V first, V second) {
    return round_neighbors(first, second);
  }
  template <class V>
  static PairVector pairs(V low, V high) {
    return round_pairs(low, high);
  }
};

#ifdef __AVX512F__
// Rounds them by an instruction of AVX512-BF16. Unlike the integer operations, it rounds all subnormal numbers to zero,
// and every NaN stays a NaN. The instruction is in assembler, because an intrinsic could not be inlined into code that
// is compiled for CPUs without it.
struct FastRounding {
  using V = VectorOf<float>::type;
  static PairVector neighbors(V first, V second) {
    PairVector pairs;
    asm("vcvtne2ps2bf16 %1, %2, %0" : "=v"(pairs) : "v"(first), "v"(second));
    return pairs;
  }
  static PairVector pairs(V low, V high) {
    using Halves = VectorOf<uint16_t>::type;
    const auto halves = (Halves)neighbors(low, high);  // halves of `low`, then of `high`
    return [&]<int... I>(std::integer_sequence<int, I...>) {
      return (PairVector)__builtin_shufflevector(halves, halves, (I / 2 + I % 2 * 16)...);
    }
    (std::make_integer_sequence<int, 32>());
  }
};
#endif

}  // namespace gyre::GYRE_CPU_NAMESPACE
