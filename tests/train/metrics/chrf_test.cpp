// chrF compared with sacreBLEU: golden/metrics.json, and the WMT17 systems with a known chrF.
#include "gyre/train/metrics/chrf.h"

#include <doctest/doctest.h>

#include <cmath>

#include "gyre/train/metrics/text.h"
#include "tests/train/metrics/golden.h"

using namespace gyre;
using nlohmann::json;

TEST_CASE("corpus chrF equals sacreBLEU") {
  const json golden = read_golden("metrics.json");
  REQUIRE(golden["chrf"].size() > 30);
  for (const json& expected : golden["chrf"]) {
    ChrfOptions options;
    options.word_order = expected["word_order"];
    options.beta = expected["beta"];
    options.lowercase = expected["lowercase"];
    const ParallelText text = parallel_text(golden, expected);
    const ChrfScore score = corpus_chrf(text.hypotheses, text.references, options);
    CAPTURE(expected.dump());
    CHECK(std::abs(score.score - expected["score"].get<double>()) < 1e-9);
    CHECK(format_line(score) == expected["line"].get<std::string>());
  }
}

TEST_CASE("chrF: invalid inputs and options are errors") {
  CHECK_THROWS_WITH_AS(
      corpus_chrf({"a"}, {{"a", "b"}}),
      "[chrf] expected as many reference lines as hypotheses, got 1 hypotheses and 2 lines in reference 1", Error);
  ChrfOptions options;
  options.character_order = 0;
  CHECK_THROWS_AS(corpus_chrf({"a"}, {{"a"}}, options), Error);
}

TEST_CASE("exact match counts equal lines") {
  CHECK(exact_match({"a", "b", "", "d "}, {"a", "x", "", "d"}) == 50);
  CHECK_THROWS_AS(exact_match({"a"}, {}), Error);
}

TEST_CASE("WMT17 systems have their known chrF and chrF++") {
  if (!has_wmt17()) return;
  size_t scored = 0;
  for (const Wmt17System& system : read_wmt17()) {
    if (!system.chrf) continue;
    // The known values are from the original chrF program, which smooths; sacreBLEU's default differs by up to 0.005.
    CAPTURE(system.name);
    CHECK(std::abs(corpus_chrf(system.hypotheses, {system.reference}).score - *system.chrf) < 0.01);
    ChrfOptions plus;
    plus.word_order = 2;
    CHECK(std::abs(corpus_chrf(system.hypotheses, {system.reference}, plus).score - *system.chrf_plus) < 0.01);
    ++scored;
  }
  CHECK(scored > 0);
}

TEST_CASE("the 16 systems of WMT17 English-German have the chrF and chrF++ of sacreBLEU") {
  if (!has_wmt17()) return;
  const json golden = read_golden("wmt17.json");
  ChrfOptions plus;
  plus.word_order = 2;
  size_t scored = 0;
  for (const Wmt17System& system : read_wmt17()) {
    for (const json& expected : golden["systems"]) {
      if (expected["name"] != system.name) continue;
      CAPTURE(system.name);
      const double chrf = corpus_chrf(system.hypotheses, {system.reference}).score;
      const double chrf_plus = corpus_chrf(system.hypotheses, {system.reference}, plus).score;
      CHECK(std::abs(chrf - expected["chrf"].get<double>()) < 1e-9);
      CHECK(std::abs(chrf_plus - expected["chrf_plus"].get<double>()) < 1e-9);
      ++scored;
    }
  }
  CHECK(scored == golden["systems"].size());
}
