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
std::map<std::string, Operation> operations(const std::string& language) {
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

TEST_CASE("Moses: examples equal sacremoses") {
  const auto expected = expected_moses();
  for (const std::string language : {"en", "de"}) {
    auto all = operations(language);
    for (const auto& [name, outputs] : expected[language]["examples"].items()) {
      const auto& inputs = expected[name == "tokens" ? "token_lines" : "lines"];
      REQUIRE(inputs.size() == outputs.size());
      for (size_t i = 0; i < inputs.size(); ++i) {
        CAPTURE(language);
        CAPTURE(name);
        const std::string input = inputs[i];
        CAPTURE(input);
        CHECK(all.at(name)(input) == outputs[i].get<std::string>());
      }
    }
  }
}

TEST_CASE("Moses: random lines equal sacremoses") {
  const auto expected = expected_moses();
  const Lines lines = random_lines(expected, 12, /*spaces=*/true);
  for (const std::string language : {"en", "de"}) {
    CAPTURE(language);
    check_hashes(language, lines, expected[language]["random"]);
  }
}

TEST_CASE("Moses: 20,000 lines of both languages equal sacremoses") {
  if (!require_shared_data({"newstest", "multi30k", "tatoeba"})) return;
  const auto expected = expected_moses();
  for (const auto& [name, count] : expected["files"].items()) {
    for (const std::string language : {"en", "de"}) {
      CAPTURE(name);
      CAPTURE(language);
      std::ifstream file(shared_data() / (name + "." + language));
      Lines lines(count.get<size_t>());
      for (std::string& line : lines) REQUIRE(std::getline(file, line));
      check_hashes(language, lines, expected[language][name]);
    }
  }
}

TEST_CASE("Moses: other languages are rejected") {
  const std::string message = "[moses] language: expected en or de, got \"fr\"";
  CHECK_THROWS_WITH_AS(MosesTokenizer("fr"), message.c_str(), UsageError);
  CHECK_THROWS_WITH_AS(MosesDetokenizer("fr"), message.c_str(), UsageError);
  CHECK_THROWS_WITH_AS(PunctuationNormalizer("fr"), message.c_str(), UsageError);
}

TEST_CASE("Moses: invalid UTF-8 becomes U+FFFD") {
  CHECK(MosesTokenizer("en").tokenize("a\xFF"
                                      "b \xE2\x82.") == "a \uFFFD b \uFFFD .");
  CHECK(MosesDetokenizer("en").detokenize("a\xFF"
                                          "b .") == "a\uFFFDb.");
  CHECK(PunctuationNormalizer("en").normalize("a\xFF ;") == "a\uFFFD;");
  CHECK(remove_non_printing("a\xFF\x01") == "a\uFFFD ");
}

TEST_CASE("Moses: any bytes become valid UTF-8") {
  const auto fragments = expected_moses()["fragments"].get<Lines>();
  fuzz(2000, [&](Fuzz& random) {
    std::string line;
    for (size_t parts = random.below(20); parts > 0; --parts) line += random.pick(fragments);
    random.damage(line);
    for (const auto& [name, operation] : operations(random.one_in(2) ? "en" : "de")) {
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
