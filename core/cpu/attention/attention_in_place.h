// Attention of one query that reads keys and values in place. For a few queries, packing them into tiles would take
// more time than the products.
#pragma once

#include <algorithm>
#include <limits>
#include <utility>

#include "gyre/core/cpu/attention/softmax_lanes.h"
#include "gyre/core/cpu/head_tiles.h"

namespace gyre::GYRE_CPU_NAMESPACE {

// Swaps blocks of `size` lanes: the odd ones of a with the even ones of b.
template <class T, int64_t size, size_t... I>
inline void swap_blocks(typename VectorOf<T>::type& a, typename VectorOf<T>::type& b, std::index_sequence<I...>) {
  constexpr int64_t lanes = kLanes<T>;
  const auto upper = __builtin_shufflevector(a, b, (int64_t(I) & size ? lanes + int64_t(I) - size : int64_t(I))...);
  b = __builtin_shufflevector(a, b, (int64_t(I) & size ? lanes + int64_t(I) : int64_t(I) + size)...);
  a = upper;
}

// Horizontal sums: lane l of the result is the sum of the lanes of v[l].
template <class T, int64_t size = kLanes<T> / 2>
inline typename VectorOf<T>::type add_lanes(typename VectorOf<T>::type (&v)[kLanes<T>]) {
  GYRE_UNROLL
  for (int64_t i = 0; i < size; ++i) {
    swap_blocks<T, size>(v[i], v[i + size], std::make_index_sequence<size_t(kLanes<T>)>());
    v[i] += v[i + size];
  }
  if constexpr (size > 1) {
    return add_lanes<T, size / 2>(v);
  } else {
    return v[0];
  }
}

// Workspace of one query: its features in the type of the arithmetic, and a score for each key. What position terms add
// to the score of each token, times log2(e), and to its value; null without them.
template <class T>
struct QueryMemory {
  T *features, *scores;
  const T* position_scores = nullptr;
  Rows<T> position_values = {};
};

// One query of one head. The features of token j are at key(j) and value(j).
template <class D, class Key, class Value>
struct QueryInPlace {
  using T = Compute<D>;
  using Vector = typename VectorOf<T>::type;
  static constexpr int64_t lanes = kLanes<T>;

  int64_t width, tokens;
  const Key& key;
  const Value& value;
  QueryMemory<T> memory;

  // out = softmax(scale q . keys) values. Returns the log-sum-exp of the scores.
  T attend(D* out, const D* q, T scale) const {
    for (int64_t f = 0; f < width; ++f) memory.features[f] = scale * T(std::numbers::log2e) * T(q[f]);
    for (int64_t j = 0; j < tokens; j += lanes) score(j);
    const auto [largest, sum] = weigh();
    const T inverse = sum > T(0) ? 1 / sum : T(0);
    int64_t f = 0;
    for (; f + 4 * lanes <= width; f += 4 * lanes) add_values<4>(out, f, inverse);
    for (; f + 2 * lanes <= width; f += 2 * lanes) add_values<2>(out, f, inverse);
    for (; f + lanes <= width; f += lanes) add_values<1>(out, f, inverse);
    for (; f < width; ++f) {
      T total = 0;
      for (int64_t j = 0; j < tokens; ++j) total += memory.scores[j] * T(value(j)[f]);
      out[f] = D(inverse * total);
    }
    if (memory.position_values) add_position_values(out, inverse);
    return sum > T(0) ? (largest + std::log2(sum)) * T(std::numbers::ln2) : -std::numeric_limits<T>::infinity();
  }

 private:
  // Computes the scores, times log2(e), of as many tokens as there are lanes, from `first` on. Scores beyond the last
  // token are -infinity.
  void score(int64_t first) const {
    Vector sums[lanes] = {};
    const auto token = [&](int64_t l) { return key(std::min(first + l, tokens - 1)); };
    int64_t f = 0;
    for (; f + lanes <= width; f += lanes) {
      const Vector query = *reinterpret_cast<const Vector*>(memory.features + f);
      GYRE_UNROLL
      for (int64_t l = 0; l < lanes; ++l) sums[l] += query * load_vector(token(l) + f);
    }
    Vector scores = add_lanes<T>(sums);
    for (; f < width; ++f)
      for (int64_t l = 0; l < lanes; ++l) scores[l] += memory.features[f] * T(token(l)[f]);
    for (int64_t l = 0; memory.position_scores && l < std::min(lanes, tokens - first); ++l)
      scores[l] += memory.position_scores[first + l];
    for (int64_t l = tokens - first; l < lanes; ++l) scores[l] = -std::numeric_limits<T>::infinity();
    *reinterpret_cast<Vector*>(memory.scores + first) = scores;
  }

  // Turns scores into weights, 2^(score - largest). Returns the largest score and the sum of the weights.
  std::pair<T, T> weigh() const {
    auto* scores = reinterpret_cast<Vector*>(memory.scores);
    const int64_t vectors = chunks(tokens);
    Vector largest_lanes = Vector{} - std::numeric_limits<T>::infinity(), sums{};
    for (int64_t i = 0; i < vectors; ++i) largest_lanes = scores[i] > largest_lanes ? scores[i] : largest_lanes;
    T largest = largest_lanes[0], sum = 0;
    for (int64_t l = 1; l < lanes; ++l) largest = std::max<T>(largest, largest_lanes[l]);
    for (int64_t i = 0; i < vectors; ++i) sums += scores[i] = power_of_two<Vector>(scores[i] - largest);
    for (int64_t l = 0; l < lanes; ++l) sum += sums[l];
    return {largest, sum};
  }
  void add_position_values(D* out, T inverse) const {
    for (int64_t f = 0; f < width; ++f) {
      T total = 0;
      for (int64_t j = 0; j < tokens; ++j) total += memory.scores[j] * *memory.position_values.at(j, f);
      out[f] = D(T(out[f]) + inverse * total);
    }
  }
  static int64_t chunks(int64_t n) { return (n + lanes - 1) / lanes; }

  // Computes `Vectors` vectors of `out` from feature f on. Two sums for each hide the latency of additions.
  template <int Vectors>
  void add_values(D* out, int64_t f, T inverse) const {
    Vector sums[2][Vectors] = {};
    const auto add = [&](Vector(&to)[Vectors], int64_t j) {
      const D* from = value(j) + f;
      GYRE_UNROLL
      for (int i = 0; i < Vectors; ++i) to[i] += memory.scores[j] * load_vector(from + i * lanes);
    };
    int64_t j = 0;
    for (; j + 2 <= tokens; j += 2) {
      add(sums[0], j);
      add(sums[1], j + 1);
    }
    if (j < tokens) add(sums[0], j);
    GYRE_UNROLL
    for (int i = 0; i < Vectors; ++i) store_vector(out + f + i * lanes, inverse * (sums[0][i] + sums[1][i]));
  }
};

template <class D, class Key, class Value>
Compute<D> attend_in_place(D* out, const D* q, int64_t width, int64_t tokens, Compute<D> scale, const Key& key,
                           const Value& value, const QueryMemory<Compute<D>>& memory) {
  return QueryInPlace<D, Key, Value>{width, tokens, key, value, memory}.attend(out, q, scale);
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
