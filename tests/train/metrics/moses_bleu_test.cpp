// Tokenized BLEU compared with an independent program over the tokens of sacremoses: golden/translation.json and
// golden/wmt17.json (made by the scripts beside them).
#include <doctest/doctest.h>

#include <cmath>

#include "gyre/train/metrics/bleu.h"
#include "tests/train/metrics/golden.h"

using namespace gyre;
using nlohmann::json;

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

TEST_CASE("the 16 systems of WMT17 English-German have the tokenized BLEU of the other program") {
  if (!has_wmt17()) return;
  const json golden = read_golden("wmt17.json");
  MosesBleuOptions split;
  split.split_compounds = true;
  size_t scored = 0;
  for (const Wmt17System& system : read_wmt17()) {
    for (const json& expected : golden["systems"]) {
      if (expected["name"] != system.name) continue;
      CAPTURE(system.name);
      const double multi = corpus_moses_bleu(system.hypotheses, {system.reference}).score;
      const double compounds = corpus_moses_bleu(system.hypotheses, {system.reference}, split).score;
      CHECK(std::abs(multi - expected["multi_bleu"].get<double>()) < 1e-9);
      CHECK(std::abs(compounds - expected["compound_split"].get<double>()) < 1e-9);
      ++scored;
    }
  }
  CHECK(scored == golden["systems"].size());
}
