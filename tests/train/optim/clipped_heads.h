// Projections whose heads QK-clip scales, compared with an independent computation.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "gyre/core/kernels/kernels.h"
#include "tests/train/optim/waves.h"

namespace gyre::test {

// The factors of queries and keys, by head. The logits of head h are multiplied by queries[h] * keys[h / group].
struct HeadFactors {
  std::vector<double> queries, keys;
  HeadFactors(const std::vector<double>& logits, int key_heads, double limit) {
    const size_t group = logits.size() / size_t(key_heads);
    for (size_t h = 0; h < logits.size(); h += group) {
      const double most = *std::max_element(logits.begin() + int64_t(h), logits.begin() + int64_t(h + group));
      keys.push_back(most > limit ? std::sqrt(limit / most) : 1);
    }
    for (size_t h = 0; h < logits.size(); ++h)
      queries.push_back(std::min(1.0, std::min(1.0, limit / logits[h]) / keys[h / group]));
  }
};

// Checks that the kernel scales a weight and a bias of queries, keys and three more rows, and leaves them if the
// verdict rejects the update.
inline void check_clipped_heads(Kernels& kernels, DType dtype, double tolerance) {
  constexpr double kLimit = 100;
  constexpr int64_t kWidth = 3;
  const std::vector<double> logits{50, 400, 100, 120, 7000, 101};
  for (const int key_heads : {6, 3, 2, 1}) {
    CAPTURE(key_heads);
    const HeadFactors factors(logits, key_heads, kLimit);
    const ClippedHeads clip{.heads = 6, .key_heads = key_heads, .width = kWidth, .limit = kLimit};
    // Two ranks have measured different heads.
    const Tensor largest = Tensor::from<double>({2, 6}, {50, 0, 3, 120, 7000, 0, 1, 400, 100, 0, 6999, 101});
    for (const int64_t columns : {1, 37}) {
      for (const double accepted : {0.0, 1.0}) {
        const Tensor x = Tensor::empty({(6 + key_heads) * kWidth + 3, columns}, dtype);
        fill(x, [](int64_t i) { return std::cos(double(i)); });
        const Tensor found = x.to(kernels.device()).clone();
        kernels.clip_heads(found, largest.to(kernels.device()),
                           Tensor::from<double>({kVerdictSize}, {1, 1, accepted}).to(kernels.device()), clip);
        const Tensor after = found.to_cpu();
        for (int64_t i = 0; i < x.size(); ++i) {
          const int64_t head = i / columns / kWidth;
          double factor = 1;
          if (accepted != 0 && head < 6) factor = factors.queries[size_t(head)];
          if (accepted != 0 && head >= 6 && head < 6 + key_heads) factor = factors.keys[size_t(head - 6)];
          REQUIRE(at(after, i) == doctest::Approx(factor * at(x, i)).epsilon(tolerance));
          if (factor == 1) REQUIRE(at(after, i) == at(x, i));
        }
      }
    }
    for (size_t h = 0; h < 6; ++h)
      CHECK(logits[h] * factors.queries[h] * factors.keys[h * size_t(key_heads) / 6] <= kLimit * (1 + 1e-12));
  }
}

}  // namespace gyre::test
