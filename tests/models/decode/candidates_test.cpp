#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "gyre/core/random.h"
#include "gyre/models/decode/beam_search.h"

namespace gyre {

// Compares the selection from random candidates, with many ties, with a stable sort of all of them.
TEST_CASE("candidates: selects the best, with ties in the order of offers") {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    RandomStream random(seed, 0);
    const int limit = 1 + int(random.below(12)), n = 1 + int(random.below(300));
    std::vector<Candidate> all;
    BestCandidates best(limit);
    for (int i = 0; i < n; ++i) {
      const float log_prob = -0.25F * float(random.below(40));
      all.push_back({double(log_prob) - 0.5 * double(random.below(6)), i / 100, i, log_prob});
      best.offer(all.back());
    }
    std::stable_sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) { return a.total > b.total; });
    REQUIRE(best.best().size() == std::min(all.size(), size_t(limit)));
    for (size_t i = 0; i < best.best().size(); ++i) {
      CHECK(best.best()[i].total == all[i].total);
      CHECK(best.best()[i].hypothesis == all[i].hypothesis);
      CHECK(best.best()[i].token == all[i].token);
      CHECK(best.best()[i].log_prob == all[i].log_prob);
    }
  }
}

TEST_CASE("candidates: rejects tokens of probability 0 and NaN") {
  const double infinity = std::numeric_limits<double>::infinity();
  BestCandidates best(4);
  for (const double total : {-infinity, std::nan(""), -2.0, -infinity, -1.0}) best.offer({total, 0, 7, float(total)});
  REQUIRE(best.best().size() == 2);
  CHECK(best.best()[0].total == -1);
  CHECK(best.best()[1].total == -2);
}

}  // namespace gyre
