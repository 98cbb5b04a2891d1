// Largest logits of attention, computed by a kernel and by loops over all pairs in f64.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "gyre/core/kernels/kernels.h"
#include "gyre/core/random.h"

namespace gyre::test {

struct LogitCase {
  std::string name;
  std::vector<int32_t> queries, keys;  // lengths of the segments
  AttentionShape shape;
  int64_t width;
  Rotary rotary = {};  // no rotation without `dims`
};

inline std::vector<LogitCase> logit_cases() {
  constexpr int64_t kAll = AttentionShape::kUnlimited;
  const auto shape = [](int heads, int kv_heads, bool causal, int64_t window) {
    return AttentionShape{
        .heads = heads, .kv_heads = kv_heads, .scale = 0.7, .causal = causal, .window = window, .dropout = {}};
  };
  const Rotary interleaved{.dims = 16, .pairs = RotaryPairs::interleaved, .magnitude = 1.1, .position_scale = 0.5};
  const Rotary halves{.dims = 24, .pairs = RotaryPairs::half_split};
  return {{"segments of one token", {1, 1, 1}, {1, 1, 1}, shape(3, 0, true, kAll), 5},
          {"causal, rotated", {1, 33, 7, 131}, {1, 33, 7, 131}, shape(2, 0, true, kAll), 16, interleaved},
          {"bidirectional, partly rotated", {5, 150}, {5, 150}, shape(2, 0, false, kAll), 40, halves},
          {"grouped queries", {70, 129}, {70, 129}, shape(4, 2, true, kAll), 13},
          {"a window", {140, 3}, {140, 3}, shape(2, 0, false, 9), 8},
          {"a causal window, one head of keys", {160}, {160}, shape(4, 1, true, 40), 24, halves},
          {"other keys", {3, 40, 0}, {50, 7, 4}, shape(2, 0, false, kAll), 7},
          {"queries that see no keys", {9}, {4}, shape(2, 0, true, kAll), 7}};
}

// Random inputs; queries and keys are columns of wider tensors.
struct LogitInputs {
  static constexpr int64_t kPositions = 50;

  LogitInputs(const LogitCase& c, DType dtype)
      : queries(Segments::from_lengths(c.queries)),
        keys(Segments::from_lengths(c.keys)),
        q{random({queries.tokens(), c.shape.heads * c.width + 5}, 1).to(dtype), 3},
        k{random({keys.tokens(), c.shape.key_heads() * c.width + 4}, 2).to(dtype), 2},
        frequencies(random({std::max(c.rotary.dims / 2, 1)}, 3)),
        query_positions(positions(queries.tokens(), 7)),
        key_positions(positions(keys.tokens(), 3)) {}

  static Tensor random(const Shape& shape, uint64_t stream) {
    const Tensor t = Tensor::empty(shape, DType::f64);
    for (int64_t i = 0; i < t.size(); ++i) t.data<double>()[i] = random_normal(5, stream, uint64_t(i));
    return t;
  }
  static Tensor positions(int64_t rows, int64_t step) {
    const Tensor t = Tensor::empty({rows}, DType::i32);
    for (int64_t i = 0; i < rows; ++i) t.data<int32_t>()[i] = int32_t(i * step % kPositions);
    return t;
  }

  Segments queries, keys;
  HeadColumns q, k;
  Tensor frequencies, query_positions, key_positions;
};

// The features of a head in one row, rotated.
inline std::vector<double> rotated_head(const LogitCase& c, const LogitInputs& in, const HeadColumns& x,
                                        const Tensor& positions, int64_t row, int64_t head) {
  const Tensor all = x.rows.to(DType::f64);
  const double* from = all.data<double>() + row * all.cols() + x.first + head * c.width;
  std::vector<double> features(from, from + c.width);
  const bool interleaved = c.rotary.pairs == RotaryPairs::interleaved;
  for (int i = 0; i < c.rotary.dims / 2; ++i) {
    const int first = interleaved ? 2 * i : i, second = interleaved ? 2 * i + 1 : i + c.rotary.dims / 2;
    const double angle = positions.data<int32_t>()[row] * c.rotary.position_scale * in.frequencies.data<double>()[i];
    const double cosine = c.rotary.magnitude * std::cos(angle), sine = c.rotary.magnitude * std::sin(angle);
    features[size_t(first)] = cosine * from[first] - sine * from[second];
    features[size_t(second)] = sine * from[first] + cosine * from[second];
  }
  return features;
}

inline double expected_logit(const LogitCase& c, const LogitInputs& in, int64_t head, double largest) {
  for (int s = 0; s < in.queries.count(); ++s) {
    const int64_t nq = in.queries.length(s), nk = in.keys.length(s);
    std::vector<std::vector<double>> keys;
    for (int64_t j = 0; j < nk; ++j)
      keys.push_back(rotated_head(c, in, in.k, in.key_positions, in.keys.begin(s) + j, head / c.shape.group()));
    for (int64_t i = 0; i < nq; ++i) {
      const auto query = rotated_head(c, in, in.q, in.query_positions, in.queries.begin(s) + i, head);
      for (int64_t j = 0; j < nk; ++j) {
        const int64_t distance = j - (i + nk - nq);
        if ((c.shape.causal && distance > 0) || std::abs(distance) > c.shape.window) continue;
        double dot = 0;
        for (size_t f = 0; f < query.size(); ++f) dot += query[f] * keys[size_t(j)][f];
        largest = std::max(largest, c.shape.scale * dot);
      }
    }
  }
  return largest;
}

inline std::vector<double> found_logits(Kernels& kernels, const LogitCase& c, const LogitInputs& in,
                                        const std::vector<double>& before) {
  const Device device = kernels.device();
  AttentionRotation rotation;
  if (c.rotary.dims > 0) {
    const DType exact = statistics_dtype(in.q.rows.dtype());
    const Tensor angles = Tensor::empty({LogitInputs::kPositions, 2 * c.rotary.dims}, exact, device);
    kernels.rotary_angles(angles, in.frequencies.to(exact).to(device), c.rotary);
    rotation = {c.rotary, angles, in.query_positions, in.key_positions};
  }
  const Tensor largest = Tensor::from({int64_t(before.size())}, before).to(device);
  kernels.largest_logits(largest, {in.q.rows.to(device), in.q.first}, {in.k.rows.to(device), in.k.first}, in.queries,
                         in.keys, c.shape, c.width, rotation);
  return largest.to_cpu().to_vector<double>();
}

// Compares all cases with the loops. The first head has had a larger logit before.
inline void check_largest_logits(Kernels& kernels, DType dtype, double tolerance) {
  CAPTURE(kernels.name());
  CAPTURE(dtype_name(dtype));
  for (const LogitCase& c : logit_cases()) {
    CAPTURE(c.name);
    const LogitInputs in(c, dtype);
    std::vector<double> before(size_t(c.shape.heads), -1000);
    before[0] = 1e6;
    const std::vector<double> found = found_logits(kernels, c, in, before);
    CHECK(found[0] == 1e6);
    for (int64_t h = 1; h < c.shape.heads; ++h) {
      CAPTURE(h);
      CHECK(found[size_t(h)] == doctest::Approx(expected_logit(c, in, h, -1000)).epsilon(tolerance));
    }
  }
}

}  // namespace gyre::test
