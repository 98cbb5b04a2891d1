// TER compared with sacreBLEU: golden/translation.json and golden/wmt17.json (made by the scripts beside them), and
// with tercom on the systems of WMT17.
#include "gyre/train/metrics/ter.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/train/metrics/golden.h"

using namespace gyre;
using nlohmann::json;

TEST_CASE("corpus TER equals sacreBLEU in score, edits and line") {
  const json golden = read_golden("translation.json");
  REQUIRE(golden["ter"].size() > 20);
  for (const json& expected : golden["ter"]) {
    TerOptions options;
    options.normalized = expected["normalized"];
    options.no_punctuation = expected["no_punct"];
    options.case_sensitive = expected["case_sensitive"];
    const ParallelText text = parallel_text(golden, expected);
    const TerScore score = corpus_ter(text.hypotheses, text.references, options);
    CAPTURE(expected.dump());
    CHECK(std::abs(score.score - expected["score"].get<double>()) < 1e-9);
    CHECK(score.edits == expected["edits"].get<int64_t>());
    CHECK(std::abs(score.reference_length - expected["reference_length"].get<double>()) < 1e-9);
    CHECK(format_line(score) == expected["line"].get<std::string>());
  }
}

TEST_CASE("a shifted block is one edit") {
  CHECK(corpus_ter({"c d a b"}, {{"a b c d"}}).edits == 1);
  CHECK(corpus_ter({"a b c d"}, {{"a b c d"}}).edits == 0);
  CHECK(corpus_ter({"A b"}, {{"a b"}}).edits == 0);
}

TEST_CASE("TER: unequal line counts are an error") {
  CHECK_THROWS_WITH_AS(
      corpus_ter({"a"}, {{"a", "b"}}),
      "[ter] expected as many reference lines as hypotheses, got 1 hypotheses and 2 lines in reference 1", Error);
}

TEST_CASE("the 16 systems of WMT17 English-German have the TER of tercom, and exactly that of sacreBLEU") {
  if (!has_wmt17()) return;
  const json golden = read_golden("wmt17.json");
  size_t scored = 0;
  for (const Wmt17System& system : read_wmt17()) {
    CAPTURE(system.name);
    const double ter = corpus_ter(system.hypotheses, {system.reference}).score;
    CHECK(std::abs(ter / 100 - system.ter) < 0.0011);
    for (const json& expected : golden["systems"]) {
      if (expected["name"] != system.name) continue;
      CHECK(std::abs(ter - expected["ter"].get<double>()) < 1e-9);
      ++scored;
    }
  }
  CHECK(scored == 16);
}
