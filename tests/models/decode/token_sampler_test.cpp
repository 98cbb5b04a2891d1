#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "gyre/core/error.h"
#include "gyre/models/decode/sampling.h"

namespace gyre {

static std::vector<int32_t> sorted(std::vector<int32_t> ids) {
  std::sort(ids.begin(), ids.end());
  return ids;
}

TEST_CASE("top-k and top-p keep exactly the most probable tokens, and lower ids of equal ones") {
  const std::vector<float> p{0.1F, 0.0F, 0.25F, 0.1F, 0.5F, 0.05F};
  const auto kept = [&](int top_k, double top_p) { return sorted(tokens_to_draw(p, top_k, top_p)); };
  using Ids = std::vector<int32_t>;
  CHECK(kept(0, 1) == Ids{0, 2, 3, 4, 5});
  CHECK(kept(100, 1) == Ids{0, 2, 3, 4, 5});
  CHECK(kept(1, 1) == Ids{4});
  CHECK(kept(2, 1) == Ids{2, 4});
  CHECK(kept(3, 1) == Ids{0, 2, 4});
  CHECK(kept(4, 1) == Ids{0, 2, 3, 4});
  CHECK(kept(0, 1e-9) == Ids{4});
  CHECK(kept(0, 0.499999) == Ids{4});
  CHECK(kept(0, 0.500001) == Ids{2, 4});
  CHECK(kept(0, 0.8) == Ids{0, 2, 4});
  CHECK(kept(0, 0.9) == Ids{0, 2, 3, 4});
  CHECK(kept(0, 0.999) == Ids{0, 2, 3, 4, 5});
  CHECK(kept(2, 0.66) == Ids{4});  // top-p counts within the top-k: 0.5 / 0.75
  CHECK(kept(2, 0.67) == Ids{2, 4});
  CHECK(tokens_to_draw(std::vector<float>{0, 0}, 0, 1).empty());
}

// The statistic sum (observed - expected)^2 / expected has the chi-square distribution with 5 degrees of freedom, which
// exceeds 20.5 with probability 0.001. The draws are fixed, so the test always has the same result.
TEST_CASE("frequencies of draws match the probabilities") {
  const std::vector<float> p{0.02F, 0.3F, 0.08F, 0.4F, 0.0F, 0.15F, 0.05F};
  const std::vector<int32_t> tokens = tokens_to_draw(p, 0, 1);
  constexpr int kDraws = 60'000;
  for (const bool over_steps : {false, true}) {
    std::vector<int> counts(p.size());
    for (uint32_t i = 0; i < kDraws; ++i)
      ++counts[size_t(draw_token(p, tokens, 7, over_steps ? 3 : i, over_steps ? i : 3))];
    double statistic = 0;
    for (const int32_t id : tokens) {
      const double expected = kDraws * double(p[size_t(id)]);
      statistic += std::pow(counts[size_t(id)] - expected, 2) / expected;
    }
    CHECK(statistic < 20.5);
    CHECK(counts[4] == 0);
  }
}

TEST_CASE("a draw depends on seed, stream and step, and not on the order of the tokens or on their scale") {
  std::vector<float> p(1000), scaled(1000);
  for (size_t i = 0; i < p.size(); ++i) {
    p[i] = 1 / float(i + 10);
    scaled[i] = 8 * p[i];
  }
  const std::vector<int32_t> tokens = tokens_to_draw(p, 0, 1), reversed(tokens.rbegin(), tokens.rend());
  int by_seed = 0, by_stream = 0, by_step = 0;
  for (uint32_t i = 0; i < 200; ++i) {
    const int32_t drawn = draw_token(p, tokens, 5, i, 9);
    CHECK(draw_token(p, tokens, 5, i, 9) == drawn);
    CHECK(draw_token(p, reversed, 5, i, 9) == drawn);
    CHECK(draw_token(scaled, tokens, 5, i, 9) == drawn);
    by_seed += int(draw_token(p, tokens, 6, i, 9) != drawn);
    by_stream += int(draw_token(p, tokens, 5, i + 1, 9) != drawn);
    by_step += int(draw_token(p, tokens, 5, i, 10) != drawn);
  }
  for (const int different : {by_seed, by_stream, by_step}) CHECK(different > 180);
}

TEST_CASE("errors of probabilities in the last bits rarely change a draw") {
  std::vector<float> p(30'000), rounded(p.size());
  for (size_t i = 0; i < p.size(); ++i) {
    p[i] = 1 / float(i + 1);
    rounded[i] = p[i] * (i % 2 == 0 ? 1 + 0x1p-20F : 1 - 0x1p-20F);
  }
  const std::vector<int32_t> tokens = tokens_to_draw(p, 0, 1);
  int changed = 0;
  for (uint32_t i = 0; i < 500; ++i)
    changed += int(draw_token(p, tokens, 1, i, 0) != draw_token(rounded, tokens, 1, i, 0));
  CHECK(changed == 0);
}

TEST_CASE("a draw without tokens throws") {
  CHECK_THROWS_WITH_AS(draw_token(std::vector<float>{0.0F}, {}, 1, 1, 0),
                       "[sampling] expected a token with a positive probability, found none", Error);
}

}  // namespace gyre
