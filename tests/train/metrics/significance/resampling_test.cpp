// Intervals and p-values compared with sacreBLEU, and random numbers compared with NumPy: golden/translation.json and
// golden/wmt17.json.
#include <doctest/doctest.h>

#include <cmath>

#include "gyre/core/error.h"
#include "gyre/train/metrics/bleu.h"
#include "gyre/train/metrics/chrf.h"
#include "gyre/train/metrics/significance.h"
#include "gyre/train/metrics/ter.h"
#include "tests/train/metrics/golden.h"

using namespace gyre;
using nlohmann::json;

namespace {

// sacreBLEU computes the scores of samples in 32-bit floating point.
constexpr double kFloatError = 2e-4;

SentenceStatistics statistics_of(const std::string& metric, const Lines& system, const std::vector<Lines>& references) {
  if (metric == "chrf") return chrf_statistics(system, references, {});
  if (metric == "ter") return ter_statistics(system, references, {});
  return bleu_statistics(system, references,
                         [](const std::string& line) { return bleu_tokens(line, BleuTokenizer::v13a, false); });
}

ScoreOfSums score_of(const std::string& metric, size_t references) {
  if (metric == "chrf") return [](std::span<const int64_t> sums) { return chrf_score(sums, {}); };
  if (metric == "ter") return [=](std::span<const int64_t> sums) { return ter_score(sums, references).score; };
  return [](std::span<const int64_t> sums) { return bleu_score(sums, {}).score; };
}

void check_interval(const std::vector<double>& scores, const json& expected) {
  const Confidence interval = confidence(scores);
  CHECK(std::abs(interval.mean - expected["mean"].get<double>()) < kFloatError);
  CHECK(std::abs(interval.half_width - expected["ci"].get<double>()) < kFloatError);
}

}  // namespace

TEST_CASE("random numbers are those of numpy.random.default_rng") {
  const json golden = read_golden("translation.json");
  for (const json& expected : golden["numbers"]) {
    NumpyRandom random(expected["seed"].get<uint64_t>());
    for (const uint32_t n : {1U, 2U, 7U, 3004U, 3000000000U}) {
      for (const json& number : expected["below"][std::to_string(n)]) CHECK(random.below(n) == number.get<uint32_t>());
    }
    for (const json& bit : expected["bits"]) CHECK(random.next_bit() == (bit.get<int>() == 1));
    for (const json& number : expected["after"]) CHECK(random.below(10) == number.get<uint32_t>());
  }
}

TEST_CASE("paired tests equal those of sacreBLEU for the same seed") {
  const json golden = read_golden("translation.json");
  REQUIRE(golden["significance"].size() > 20);
  for (const json& expected : golden["significance"]) {
    CAPTURE(expected.dump());
    const std::string metric = expected["metric"];
    Lines systems[2];
    std::vector<Lines> references(expected["references"].get<size_t>());
    for (const json& row : golden["sets"][expected["lines"].get<std::string>()]) {
      systems[0].push_back(row[0]);
      systems[1].push_back(row[2]);
      for (Lines& reference : references) reference.push_back(row[1]);
    }
    const ScoreOfSums score = score_of(metric, references.size());
    const auto baseline = statistics_of(metric, systems[0], references);
    const auto system = statistics_of(metric, systems[1], references);
    CHECK(std::abs(score(system.sum()) - expected["score"].get<double>()) < 1e-9);
    const ResamplingOptions options{expected["samples"].get<int64_t>(), expected["seed"].get<uint64_t>()};
    double p = 0;
    if (expected["test"] == "bs") {
      const auto scores = bootstrap_scores(system, score, options);
      check_interval(scores, expected);
      p = paired_bootstrap(bootstrap_scores(baseline, score, options), scores,
                           std::abs(score(baseline.sum()) - score(system.sum())));
    } else {
      p = paired_randomization(baseline, system, score, options);
    }
    // The BLEU of the short lines is 0 in every sample: the only difference from sacreBLEU.
    const bool all_equal = expected["metric"] == "bleu" && expected["lines"] == "short";
    CHECK(std::abs(p - (all_equal ? 1 : expected["p_value"].get<double>())) < 1e-12);
  }
}

TEST_CASE("a system does not differ from itself") {
  const auto same = statistics_of("ter", {"a b", "c d"}, {{"a x", "c d"}});
  const ScoreOfSums score = score_of("ter", 1);
  const auto scores = bootstrap_scores(same, score, {100, 1});
  CHECK(paired_bootstrap(scores, scores, 0) == 1);
  CHECK(paired_randomization(same, same, score, {100, 1}) == 1);
}

TEST_CASE("few sentences that differ limit the p of a permutation test") {
  const std::vector<std::vector<std::string>> references{{"a b", "c d", "e f", "g h"}};
  const auto all = statistics_of("ter", {"a b", "c d", "e f", "g h"}, references);
  const auto least = [&](const std::vector<std::string>& system) {
    return least_randomization_p(all, statistics_of("ter", system, references));
  };
  CHECK(least({"a b", "c d", "e f", "g h"}) == 1);
  CHECK(least({"a x", "c d", "e f", "g h"}) == 1);
  CHECK(least({"a x", "c x", "e f", "g h"}) == 0.5);
  CHECK(least({"a x", "c x", "e x", "g x"}) == 0.125);
}

TEST_CASE("the interval of one sentence has no width") {
  const auto one = statistics_of("ter", {"a b"}, {{"a x"}});
  const Confidence interval = confidence(bootstrap_scores(one, score_of("ter", 1), {}));
  CHECK(interval.mean == doctest::Approx(50));
  CHECK(interval.half_width == 0);
}

TEST_CASE("resampling: invalid inputs are errors") {
  const auto one = statistics_of("ter", {"a"}, {{"a"}}), two = statistics_of("ter", {"a", "b"}, {{"a", "b"}});
  const ScoreOfSums score = score_of("ter", 1);
  CHECK_THROWS_WITH_AS(bootstrap_scores(one, score, {0, 1}), "[resampling] expected at least one sample, got 0", Error);
  CHECK_THROWS_WITH_AS(paired_randomization(one, two, score, {}),
                       "[resampling] expected as many sentences of the system as of the baseline, got 2 and 1", Error);
  CHECK_THROWS_AS(paired_bootstrap({1}, {1, 2}, 1), Error);
  CHECK_THROWS_AS(confidence({}), Error);
}

TEST_CASE("three systems of WMT17 have the intervals and p-values of sacreBLEU") {
  if (!has_wmt17()) return;
  const json golden = read_golden("wmt17.json");
  const ScoreOfSums score = score_of("bleu", 1);
  std::vector<SentenceStatistics> systems;
  for (const json& expected : golden["bootstrap"]) {
    for (const Wmt17System& system : read_wmt17()) {
      if (system.name != "newstest2017." + expected["name"].get<std::string>() + ".en-de") continue;
      systems.push_back(statistics_of("bleu", system.hypotheses, {system.reference}));
    }
  }
  REQUIRE(systems.size() == 3);
  const auto baseline = bootstrap_scores(systems[0], score, {});
  check_interval(baseline, golden["bootstrap"][0]);
  for (size_t i = 1; i < systems.size(); ++i) {
    const auto scores = bootstrap_scores(systems[i], score, {});
    check_interval(scores, golden["bootstrap"][i]);
    const double difference = std::abs(score(systems[0].sum()) - score(systems[i].sum()));
    // One sample more or less, because of the floating point of sacreBLEU.
    CHECK(std::abs(paired_bootstrap(baseline, scores, difference) - golden["bootstrap"][i]["p_value"].get<double>()) <
          0.0011);
    CHECK(std::abs(paired_randomization(systems[0], systems[i], score, {1000, 12345}) -
                   golden["randomization"][i]["p_value"].get<double>()) < 1e-12);
  }
}
