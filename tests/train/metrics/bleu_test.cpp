// BLEU compared with sacreBLEU: golden/metrics.json (made by golden/make_metrics.py), and the 16 systems of WMT17 if
// they are available.
#include "gyre/train/metrics/bleu.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/train/metrics/golden.h"

using namespace gyre;
using nlohmann::json;

namespace {

BleuOptions options_of(const json& expected) {
  BleuOptions options;
  options.tokenizer = bleu_tokenizer(expected["tokenizer"].get<std::string>());
  options.smoothing = parse_enum<BleuSmoothing>("smoothing", expected["smoothing"].get<std::string>());
  options.lowercase = expected["lowercase"];
  if (!expected["value"].is_null()) options.smoothing_value = expected["value"].get<double>();
  return options;
}

}  // namespace

TEST_CASE("corpus BLEU equals sacreBLEU in score, counts and line") {
  const json golden = read_golden("metrics.json");
  REQUIRE(golden["bleu"].size() > 50);
  for (const json& expected : golden["bleu"]) {
    const ParallelText text = parallel_text(golden, expected);
    const BleuScore score = corpus_bleu(text.hypotheses, text.references, options_of(expected));
    CAPTURE(expected["line"].get<std::string>());
    CAPTURE(expected["lines"].get<std::string>());
    CHECK(std::abs(score.score - expected["score"].get<double>()) < 1e-9);
    CHECK(std::abs(score.brevity_penalty - expected["brevity_penalty"].get<double>()) < 1e-12);
    for (size_t n = 0; n < 4; ++n)
      CHECK(std::abs(score.precisions[n] - expected["precisions"][n].get<double>()) < 1e-9);
    CHECK(score.hypothesis_length == expected["hypothesis_length"].get<int64_t>());
    CHECK(score.reference_length == expected["reference_length"].get<int64_t>());
    if (!expected["matches"].is_null()) {
      CHECK(json(score.matches) == expected["matches"]);
      CHECK(json(score.totals) == expected["totals"]);
    }
    CHECK(format_line(score) == expected["line"].get<std::string>());
  }
}

TEST_CASE("the tokenizers split every line like those of sacreBLEU") {
  const json golden = read_golden("metrics.json");
  REQUIRE(golden["tokens"].size() > 100);
  for (const json& expected : golden["tokens"]) {
    const auto tokenizer = bleu_tokenizer(expected["tokenizer"].get<std::string>());
    std::string joined;
    for (const auto& token : bleu_tokens(expected["line"].get<std::string>(), tokenizer, expected["lowercase"])) {
      joined += (joined.empty() ? "" : " ") + to_utf8(token);
    }
    CAPTURE(expected.dump());
    CHECK(joined == expected["tokens"].get<std::string>());
  }
}

TEST_CASE("a line break inside a segment is removed as in mteval") {
  const auto tokens = bleu_tokens("hyphen-\nated\nline", BleuTokenizer::v13a, false);
  REQUIRE(tokens.size() == 2);
  CHECK(to_utf8(tokens[0]) == "hyphenated");
}

TEST_CASE("tokenizers have the names of sacreBLEU") {
  for (const char* text : {"13a", "intl", "char", "none"}) CHECK(name(bleu_tokenizer(text)) == text);
  CHECK_THROWS_WITH_AS(bleu_tokenizer("zh"), "[bleu] expected the tokenizer 13a, intl, char or none, got zh", Error);
}

TEST_CASE("the error for unequal line counts gives both counts") {
  CHECK_THROWS_WITH_AS(
      corpus_bleu({"a", "b"}, {{"a", "b"}, {"a", "b", "c"}}),
      "[bleu] expected as many reference lines as hypotheses, got 2 hypotheses and 3 lines in reference 2", Error);
  CHECK_THROWS_WITH_AS(corpus_bleu({}, {{}}), "[bleu] expected at least one hypothesis, got none", Error);
  CHECK_THROWS_WITH_AS(corpus_bleu({"a"}, {}), "[bleu] expected at least one reference, got none", Error);
}

TEST_CASE("invalid UTF-8 is scored and not an error") {
  const BleuScore score = corpus_bleu({"a b \xff c d"}, {{"a b \xff c d"}});
  CHECK(score.score == doctest::Approx(100));
  CHECK(score.hypothesis_length == 5);
}

TEST_CASE("the 16 systems of WMT17 English-German have their known BLEU") {
  if (!has_wmt17()) return;
  const auto systems = read_wmt17();
  CHECK(systems.size() == 16);
  for (const Wmt17System& system : systems) {
    CAPTURE(system.name);
    CHECK(std::abs(corpus_bleu(system.hypotheses, {system.reference}).score - system.bleu) < 0.01);
  }
}
