// Softmax over the vectors of a chunk: lane l is one query, vector j the scores with key j. 2^x is cheaper than e^x, so
// that the scale of the scores includes the factor log2(e).
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "gyre/core/cpu/gemm/small_gemm.h"

namespace gyre::GYRE_CPU_NAMESPACE {

// 2^x for x < 128. With x = n + f, |f| <= 1/2, 2^f is a minimax polynomial of relative error 2e-9, and n, in the low
// bits of x + 1.5 * 2^23, is added to the exponent. Below 2^-64 the result is zero: such a weight is negligible against
// the largest, 1, and its products would be denormal numbers, which take a hundred times as long.
template <class V>
inline V power_of_two(V x) {
  if constexpr (sizeof(x[0]) == sizeof(double)) {  // gradient checks only
    for (size_t i = 0; i < sizeof(V) / sizeof(double); ++i) x[i] = std::exp2(x[i]);
    return x;
  } else {
    using Bits = typename VectorOf<uint32_t>::type;  // unsigned, because the sum wraps around for very small x
    const auto nothing = x < -64.0f;
    const V shifted = x + 12582912.0f, f = x - (shifted - 12582912.0f);
    V p = f * 0.00015345812f + 0.0013399931f;
    p = p * f + 0.009618489f;
    p = p * f + 0.055503286f;
    p = p * f + 0.24022646f;
    p = p * f + 0.6931472f;
    p = p * f + 1.0f;
    const V power = (V)((Bits)p + ((Bits)shifted << 23));
    return nothing ? V{} : power;
  }
}

// log2(x) for x >= 1, within a few units in the last place. With x = 2^n m, m in [sqrt(1/2), sqrt(2)):
// ln m = 2 artanh s, s = (m - 1) / (m + 1).
template <class V>
inline V logarithm_of_two(V x) {
  if constexpr (sizeof(x[0]) == sizeof(double)) {
    for (size_t i = 0; i < sizeof(V) / sizeof(double); ++i) x[i] = std::log2(x[i]);
    return x;
  } else {
    using Bits = typename VectorOf<uint32_t>::type;  // unsigned, because unused lanes hold any x
    using Exponents = typename VectorOf<int32_t>::type;
    constexpr uint32_t root_half = 0x3F3504F3;  // sqrt(1/2)
    const Exponents n = (Exponents)((Bits)x - root_half) >> 23;
    const V m = (V)((Bits)x - ((Bits)n << 23)), s = (m - 1.0f) / (m + 1.0f), t = s * s;
    const V series = ((t * (1.0f / 7) + 1.0f / 5) * t + 1.0f / 3) * t + 1.0f;
    return __builtin_convertvector(n, V) + s * series * float(2 / std::numbers::ln2);
  }
}

// The mask of a chunk of scores: the keys that each lane attends to.
template <class T>
struct VisibleKeys {
  int64_t keys;              // number of vectors in the chunk
  int64_t all_from, all_to;  // all lanes see the keys [all_from, all_to); empty if all_from >= all_to
  int64_t low, edge;         // lane l sees the keys [l + low, l + edge)

  using Index = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;
  using Mask = typename VectorOf<Index>::type;

  Mask lanes(int64_t key) const {
    const auto lane = lane_numbers(std::make_index_sequence<kLanes<T>>());
    return (Index(key - edge) < lane) & (lane <= Index(key - low));
  }
  // Calls, in the order of the keys, all(j) for keys that all lanes see and some(j) for the others.
  template <class All, class Some>
  void for_each(const All& all, const Some& some) const {
    const int64_t from = std::min(all_from, keys), to = std::max(from, std::min(all_to, keys));
    for (int64_t j = 0; j < from; ++j) some(j);
    for (int64_t j = from; j < to; ++j) all(j);
    for (int64_t j = to; j < keys; ++j) some(j);
  }

 private:
  template <size_t... I>
  static Mask lane_numbers(std::index_sequence<I...>) {
    return Mask{Index(I)...};
  }
};

// Statistics of the scores of a chunk, per lane.
template <class T>
struct LaneSums {
  typename VectorOf<T>::type inverse;  // 1 / sum of the weights; 0 if no key is visible
  typename VectorOf<T>::type lse;      // log-sum-exp of scale * scores, base e; -infinity if no key is visible
};

// Turns scores into weights that are not normalized: exp(scale * (score - largest score of the lane)).
template <class T>
LaneSums<T> softmax_lanes(typename VectorOf<T>::type* scores, const VisibleKeys<T> keys, T scale) {
  using V = typename VectorOf<T>::type;
  const T factor = scale * T(std::numbers::log2e);
  const V nothing = V{} - std::numeric_limits<T>::infinity();
  V largest = nothing;
  const auto see = [&](V s) { largest = s > largest ? s : largest; };
  keys.for_each([&](int64_t j) { see(scores[j]); }, [&](int64_t j) { see(keys.lanes(j) ? scores[j] : nothing); });
  const V shift = largest * factor;
  V sum{};
  const auto weight = [&](int64_t j) { return power_of_two<V>(scores[j] * factor - shift); };
  keys.for_each([&](int64_t j) { sum += scores[j] = weight(j); },
                [&](int64_t j) { sum += scores[j] = keys.lanes(j) ? weight(j) : V{}; });
  const V lse = (shift + logarithm_of_two<V>(sum)) * T(std::numbers::ln2);
  return {sum > T(0) ? T(1) / sum : V{}, sum > T(0) ? lse : nothing};
}

// Turns scores into weights m p, and dweights, given as dp, into scale p (m dp - D), where D is the lane's sum of
// p m dp. p is recomputed from lse. m: `factors`, the dropout factors, or null without dropout.
template <class T>
void softmax_lanes_backward(typename VectorOf<T>::type* scores, typename VectorOf<T>::type* dweights,
                            const typename VectorOf<T>::type* factors, const VisibleKeys<T> keys, T scale,
                            typename VectorOf<T>::type lse) {
  using V = typename VectorOf<T>::type;
  const T factor = scale * T(std::numbers::log2e);
  const V shift = lse * T(std::numbers::log2e);
  V sum{};
  const auto weigh = [&](int64_t j, V weight) {
    if (factors) dweights[j] *= factors[j];
    sum += weight * dweights[j];
    scores[j] = weight;
  };
  const auto weight = [&](int64_t j) { return power_of_two<V>(scores[j] * factor - shift); };
  keys.for_each([&](int64_t j) { weigh(j, weight(j)); }, [&](int64_t j) { weigh(j, keys.lanes(j) ? weight(j) : V{}); });
  for (int64_t j = 0; j < keys.keys; ++j) {
    dweights[j] = scale * scores[j] * (dweights[j] - sum);
    if (factors) scores[j] *= factors[j];
  }
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
