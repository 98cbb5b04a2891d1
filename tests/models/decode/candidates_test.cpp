#include "models/decode/candidates.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/random.h"

namespace gyre {

// Random rows with many ties, against a stable sort of everything.
TEST_CASE("candidates: the best of all rows, ties by hypothesis and then by lower id") {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    RandomStream random(seed, 0);
    const int rows = 1 + int(random.below(5)), limit = 1 + int(random.below(12));
    const auto n = int64_t(1 + random.below(300));
    std::vector<Candidate> all;
    BestCandidates best(limit);
    for (int row = 0; row < rows; ++row) {
      const double total = -0.5 * double(random.below(6));
      std::vector<float> log_probs(static_cast<size_t>(n));
      for (float& x : log_probs) x = -0.25F * float(random.below(40));
      for (int64_t j = 0; j < n; ++j) all.push_back({total + double(log_probs[size_t(j)]), row, int32_t(j)});
      best.offer_row(log_probs.data(), n, row, total);
    }
    std::stable_sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) { return a.total > b.total; });
    REQUIRE(best.best().size() == std::min(all.size(), size_t(limit)));
    for (size_t i = 0; i < best.best().size(); ++i) {
      CHECK(best.best()[i].total == all[i].total);
      CHECK(best.best()[i].hypothesis == all[i].hypothesis);
      CHECK(best.best()[i].token == all[i].token);
    }
  }
}

TEST_CASE("candidates: impossible tokens and NaN are not candidates") {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> row{-infinity, std::nanf(""), -2, -infinity, -1};
  BestCandidates best(4);
  best.offer_row(row.data(), 5, 0, -3);
  REQUIRE(best.best().size() == 2);
  CHECK(best.best()[0].token == 4);
  CHECK(best.best()[0].total == -4);
  CHECK(best.best()[1].token == 2);
}

}  // namespace gyre
