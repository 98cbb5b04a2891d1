// Projections whose heads QK-clip scales, compared with those of tests/train/golden/make_optimizers.py.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "gyre/core/io/json.h"
#include "gyre/core/kernels/kernels.h"
#include "tests/train/optim/golden.h"
#include "tests/train/optim/waves.h"

namespace gyre::test {

// Checks that the kernel scales a weight of queries, keys and three more rows as expected, or leaves it if the verdict
// rejects the update. `clip` and `columns` can describe the same rows as a bias.
inline void check_clipped_rows(Kernels& kernels, DType dtype, double tolerance, const ClippedHeads& clip,
                               int64_t columns, const Tensor& largest, const std::vector<double>& expected) {
  CAPTURE(columns);
  for (const double accepted : {0.0, 1.0}) {
    const Tensor x = Tensor::empty({int64_t(expected.size()) / columns, columns}, dtype);
    fill(x, [](int64_t i) { return std::sin(0.7 * double(i)); });
    const Tensor found = x.to(kernels.device()).clone();
    const Tensor verdict = Tensor::from<double>({kVerdictSize}, {1, 1, accepted});
    kernels.clip_heads(found, largest.to(kernels.device()), verdict.to(kernels.device()), clip);
    const Tensor after = found.to_cpu();
    for (int64_t i = 0; i < x.size(); ++i) {
      const double unclipped = std::sin(0.7 * double(i)), clipped = expected[size_t(i)];
      if (accepted == 0 || clipped == unclipped) {
        REQUIRE(at(after, i) == at(x, i));
      } else {
        REQUIRE(at(after, i) == doctest::Approx(clipped).epsilon(tolerance));
      }
    }
  }
}

// Checks weights and biases for any number of heads of keys.
inline void check_clipped_heads(Kernels& kernels, DType dtype, double tolerance) {
  const Json& golden = optimizer_golden()["qk_clip"];
  std::vector<double> logits;
  for (const auto& of_rank : golden["logits"])
    for (const auto& logit : of_rank) logits.push_back(logit.get<double>());
  const auto heads = int64_t(golden["logits"][0].size());
  const Tensor largest = Tensor::from({int64_t(logits.size()) / heads, heads}, logits);
  const int64_t width = golden["width"], columns = golden["columns"];
  for (const auto& item : golden["weights"].items()) {
    const std::string key_heads = item.key();
    CAPTURE(key_heads);
    const auto expected = item.value().get<std::vector<double>>();
    ClippedHeads clip{
        .heads = int(heads), .key_heads = std::stoi(key_heads), .width = width, .limit = golden["limit"].get<double>()};
    check_clipped_rows(kernels, dtype, tolerance, clip, columns, largest, expected);
    clip.width = width * columns;
    check_clipped_rows(kernels, dtype, tolerance, clip, 1, largest, expected);
  }
}

}  // namespace gyre::test
