// BLEU, chrF, TER and tokenized BLEU compared with other programs: golden/*.json, made by the scripts beside them, and
// the 16 systems of WMT17 if they are available.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "gyre/data/text/utf8.h"
#include "gyre/train/metrics/bleu.h"
#include "gyre/train/metrics/chrf.h"
#include "gyre/train/metrics/exact_match.h"
#include "gyre/train/metrics/ter.h"
#include "gyre/train/metrics/text.h"
#include "tests/train/metrics/golden.h"

using namespace gyre;
using nlohmann::json;

namespace {

BleuOptions options_of(const json& expected) {
  BleuOptions options;
  options.tokenizer = parse_enum<BleuTokenizer>("bleu", expected["tokenizer"].get<std::string>());
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
    const auto tokenizer = parse_enum<BleuTokenizer>("bleu", expected["tokenizer"].get<std::string>());
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
  for (const char* text : {"13a", "intl", "char", "none"})
    CHECK(enum_name(parse_enum<BleuTokenizer>("bleu", text)) == text);
  CHECK_THROWS_WITH_AS(parse_enum<BleuTokenizer>("bleu", "zh"),
                       "[bleu] expected one of 13a, intl, char, none, got \"zh\"", Error);
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

// ---- Tokenized BLEU, compared with an independent program over the tokens of sacremoses ----------------------------

TEST_CASE("tokenized BLEU equals multi-bleu.perl in score and counts") {
  const json golden = read_golden("translation.json");
  REQUIRE(golden["tokenized"].size() > 50);
  for (const json& expected : golden["tokenized"]) {
    MosesBleuOptions options;
    options.split_compounds = expected["protocol"] == "compound-split";
    options.tokenized = expected["tokenized"];
    options.lowercase = expected["lowercase"];
    const ParallelText text = parallel_text(golden, expected);
    const BleuScore score = corpus_moses_bleu(text.hypotheses, text.references, options);
    CAPTURE(expected.dump());
    CHECK(std::abs(score.score - expected["score"].get<double>()) < 1e-9);
    CHECK(json(score.matches) == expected["matches"]);
    CHECK(json(score.totals) == expected["totals"]);
    CHECK(score.hypothesis_length == expected["hypothesis_length"].get<int64_t>());
    CHECK(score.reference_length == expected["reference_length"].get<int64_t>());
  }
}

// Expected values are those of perl -pe 's{(\S)-(\S)}{$1 ##AT##-##AT## $2}g'.
TEST_CASE("compounds are split as Perl does, without overlaps and on bytes") {
  CHECK(split_compounds("rich-text format") == "rich ##AT##-##AT## text format");
  CHECK(split_compounds("a-b-c-d") == "a ##AT##-##AT## b-c ##AT##-##AT## d");
  CHECK(split_compounds("a-ä-c") == "a ##AT##-##AT## ä ##AT##-##AT## c");
  CHECK(split_compounds("an- und aus -x - -") == "an- und aus -x - -");
  CHECK(split_compounds("--x-- a---b") == "- ##AT##-##AT## x-- a ##AT##-##AT## --b");
  CHECK(split_compounds("") == "");
}

TEST_CASE("Unicode quotes become ASCII quotes") {
  CHECK(ascii_quotes("„a“ ‚b‘ »c« ’d") == "\"a\" 'b' \"c\" 'd");
  // Only the protocol compound-split does this, and only to text that is not tokenized yet.
  const Lines quoted{"„Ja“ , sagt er ."}, plain{"\"Ja\" , sagt er ."};
  MosesBleuOptions options;
  CHECK(corpus_moses_bleu(plain, {quoted}, options).score < 100);
  options.split_compounds = true;
  CHECK(corpus_moses_bleu(plain, {quoted}, options).score == doctest::Approx(100));
  options.tokenized = true;
  CHECK(corpus_moses_bleu(plain, {quoted}, options).score < 100);
}

TEST_CASE("the signature of tokenized BLEU names tokenizer, case, quotes and splits") {
  MosesBleuOptions options;
  CHECK(moses_bleu_signature(1, options) == "nrefs:1|case:mixed|eff:no|tok:moses-de|smooth:none|impl:gyre");
  options.split_compounds = true;
  CHECK(moses_bleu_signature(2, options) ==
        "nrefs:2|case:mixed|eff:no|tok:moses-de|quotes:ascii|split:atat|smooth:none|impl:gyre");
  options.tokenized = options.lowercase = true;
  CHECK(moses_bleu_signature(1, options) ==
        "nrefs:1|case:lc-ascii|eff:no|tok:asis|quotes:asis|split:atat|smooth:none|impl:gyre");
}

TEST_CASE("compounds are not split in text whose hyphens the tokenizer has split") {
  MosesBleuOptions options;
  options.split_compounds = true;
  const std::string rest =
      "expected text whose hyphens are not split, got the token @-@ of tokenizer.perl -a; use the protocol multi-bleu, "
      "or detokenize the text";
  CHECK_THROWS_WITH_AS(corpus_moses_bleu({"a", "a @-@ b"}, {{"a", "b"}}, options),
                       ("[compound-split] hypotheses, line 2: " + rest).c_str(), Error);
  CHECK_THROWS_WITH_AS(corpus_moses_bleu({"a"}, {{"a"}, {"a @-@ b"}}, options),
                       ("[compound-split] reference 2, line 1: " + rest).c_str(), Error);
  options.split_compounds = false;
  options.tokenized = true;
  CHECK(corpus_moses_bleu({"a @-@ b c"}, {{"a @-@ b c"}}, options).score == doctest::Approx(100));
}

// ---- chrF compared with sacreBLEU ----------------------------------------------------------------------------------

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

// ---- TER compared with sacreBLEU -----------------------------------------------------------------------------------

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

// ---- The systems of WMT17, whose known scores are those of the shared task -----------------------------------------

TEST_CASE("the 16 systems of WMT17 English-German have their known scores, and exactly those of other programs") {
  if (!has_wmt17()) return;
  const json golden = read_golden("wmt17.json");
  MosesBleuOptions split;
  split.split_compounds = true;
  ChrfOptions plus;
  plus.word_order = 2;
  const auto systems = read_wmt17();
  CHECK(systems.size() == 16);
  CHECK(golden["systems"].size() == 16);
  size_t with_chrf = 0;
  for (const Wmt17System& system : systems) {
    CAPTURE(system.name);
    const auto exact = std::ranges::find_if(golden["systems"], [&](const json& s) { return s["name"] == system.name; });
    REQUIRE(exact != golden["systems"].end());
    const auto check = [&](double score, const char* name) {
      CAPTURE(name);
      CHECK(std::abs(score - (*exact)[name].get<double>()) < 1e-9);
    };
    const Lines& lines = system.hypotheses;
    CHECK(std::abs(corpus_bleu(lines, {system.reference}).score - system.bleu) < 0.01);
    check(corpus_moses_bleu(lines, {system.reference}).score, "multi_bleu");
    check(corpus_moses_bleu(lines, {system.reference}, split).score, "compound_split");
    const double ter = corpus_ter(lines, {system.reference}).score;
    CHECK(std::abs(ter / 100 - system.ter) < 0.0011);  // tercom's score
    check(ter, "ter");
    const double chrf = corpus_chrf(lines, {system.reference}).score;
    const double chrf_plus = corpus_chrf(lines, {system.reference}, plus).score;
    check(chrf, "chrf");
    check(chrf_plus, "chrf_plus");
    if (!system.chrf) continue;
    // The known values are from the original chrF program, which smooths; sacreBLEU's default differs by up to 0.005.
    CHECK(std::abs(chrf - *system.chrf) < 0.01);
    CHECK(std::abs(chrf_plus - *system.chrf_plus) < 0.01);
    ++with_chrf;
  }
  CHECK(with_chrf > 0);
}
