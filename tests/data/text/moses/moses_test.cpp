// Compares the Moses tokenizer, detokenizer and punctuation normalizer with sacremoses (golden/moses.json).
#include <doctest/doctest.h>

#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "gyre/core/error.h"
#include "gyre/data/text/moses/moses_tokenizer.h"
#include "gyre/data/text/moses/punctuation.h"
#include "gyre/data/text/utf8.h"
#include "tests/data/golden_lines.h"
#include "tests/data/text_files.h"
#include "tests/fuzz.h"
#include "tests/shared_data.h"

using namespace gyre;

namespace {

using Lines = std::vector<std::string>;
using Operation = std::function<std::string(const std::string&)>;

nlohmann::json expected_moses() { return nlohmann::json::parse(read_file(golden("moses.json"))); }

// By their names in the golden file.
std::map<std::string, Operation> operations(const std::string& language_name) {
  const auto language = parse_enum<MosesLanguage>("language", language_name);
  const MosesTokenizer tokenizer(language), hyphens(language, {.escape = false, .aggressive_hyphens = true}),
      escaped_hyphens(language, {.aggressive_hyphens = true});
  const MosesDetokenizer detokenizer(language);
  const PunctuationNormalizer normalizer(language), perl(language, {.perl_quotes = true});
  return {
      {"tokenize", [=](const std::string& line) { return tokenizer.tokenize(line); }},
      {"hyphens", [=](const std::string& line) { return hyphens.tokenize(line); }},
      {"detokenize", [=](const std::string& line) { return detokenizer.detokenize(escaped_hyphens.tokenize(line)); }},
      {"tokens", [=](const std::string& line) { return detokenizer.detokenize(line); }},
      {"normalize", [=](const std::string& line) { return normalizer.normalize(line); }},
      {"perl", [=](const std::string& line) { return perl.normalize(line); }}};
}

void check_hashes(const std::string& language, const Lines& lines, const nlohmann::json& expected) {
  auto all = operations(language);
  for (const auto& [name, value] : expected.items()) {
    CAPTURE(name);
    CHECK(hash_lines(lines, all.at(name)) == value.get<std::string>());
  }
}

}  // namespace

TEST_CASE("Moses: every language has golden values") {
  const auto expected = expected_moses();
  const std::vector<MosesLanguage> languages = enum_values<MosesLanguage>();
  CHECK(expected["languages"].size() == languages.size());
  for (const MosesLanguage language : languages)
    CHECK(expected["languages"].contains(std::string(enum_name(language))));
}

TEST_CASE("Moses: examples equal sacremoses") {
  const auto expected = expected_moses();
  for (const auto& [language, golden] : expected["languages"].items()) {
    auto all = operations(language);
    for (const auto& [name, examples] : golden["examples"].items()) {
      REQUIRE(!examples.empty());
      for (const auto& example : examples) {
        CAPTURE(language);
        CAPTURE(name);
        const std::string input = example[0];
        CAPTURE(input);
        CHECK(all.at(name)(input) == example[1].get<std::string>());
      }
    }
  }
}

TEST_CASE("Moses: random lines equal sacremoses") {
  const auto expected = expected_moses();
  const Lines lines = random_lines(expected, 12, /*spaces=*/true);
  for (const auto& [language, golden] : expected["languages"].items()) {
    CAPTURE(language);
    check_hashes(language, lines, golden["random"]);
  }
}

TEST_CASE("Moses: lines of test sets equal sacremoses") {
  if (!require_shared_data({"newstest", "multi30k", "tatoeba"})) return;
  const auto expected = expected_moses();
  for (const auto& [language, golden] : expected["languages"].items()) {
    for (const auto& [name, values] : golden["files"].items()) {
      CAPTURE(name);
      CAPTURE(language);
      std::ifstream file(shared_data() / (name + "." + language));
      Lines lines(values["lines"].get<size_t>());
      for (std::string& line : lines) REQUIRE(std::getline(file, line));
      check_hashes(language, lines, values["hashes"]);
    }
  }
}

TEST_CASE("Moses: invalid UTF-8 becomes U+FFFD") {
  CHECK(MosesTokenizer(MosesLanguage::english)
            .tokenize("a\xFF"
                      "b \xE2\x82.") == "a \uFFFD b \uFFFD .");
  CHECK(MosesDetokenizer(MosesLanguage::english)
            .detokenize("a\xFF"
                        "b .") == "a\uFFFDb.");
  CHECK(PunctuationNormalizer(MosesLanguage::english).normalize("a\xFF ;") == "a\uFFFD;");
  CHECK(remove_non_printing("a\xFF\x01") == "a\uFFFD ");
}

TEST_CASE("Moses: any bytes become valid UTF-8") {
  const auto fragments = expected_moses()["fragments"].get<Lines>();
  fuzz(2000, [&](Fuzz& random) {
    std::string line;
    for (size_t parts = random.below(20); parts > 0; --parts) line += random.pick(fragments);
    random.damage(line);
    const auto language = random.pick(enum_values<MosesLanguage>());
    for (const auto& [name, operation] : operations(std::string(enum_name(language)))) {
      CAPTURE(name);
      CHECK(!first_invalid_utf8(operation(line)));
    }
    CHECK(count_characters(remove_non_printing(line)) <= count_characters(line));
  });
}

TEST_CASE("Moses: characters of category C become spaces") {
  CHECK(remove_non_printing("") == "");
  CHECK(remove_non_printing(std::string("a\0\t\x1F\x7F"
                                        "b",
                                        6)) == "a    b");
  CHECK(remove_non_printing("\u0085\u00AD\u200B\u200E\uFEFF") == "     ");          // control and format
  CHECK(remove_non_printing("\uE000\U000F0000\u0378\uFFFE\U0010FFFF") == "     ");  // private use, unassigned
  CHECK(remove_non_printing("é中😀\u00A0\u2028\u0301") == "é中😀\u00A0\u2028\u0301");
}
