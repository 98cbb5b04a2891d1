#include "data/subword_nmt.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "data/dictionary_vocabulary.h"
#include "data/parallel_text.h"
#include "tests/data/text_files.h"
#include "tests/shared_data.h"

using namespace gyre;
using Pieces = std::vector<std::string>;

namespace {

SubwordNmt segmenter_of(const nlohmann::json& entry) {
  SubwordNmt segmenter("codes", entry["codes"].get<std::string>());
  if (!entry["dictionary"].is_null()) {
    const Dictionary dictionary("dictionary", entry["dictionary"].get<std::string>(), entry["threshold"]);
    segmenter.set_vocabulary({dictionary.words().begin(), dictionary.words().end()});
  }
  return segmenter;
}

}  // namespace

TEST_CASE("subword-nmt: segments as the package does") {
  const auto cases = nlohmann::json::parse(read_file(golden("subword_nmt.json")));
  REQUIRE(cases.size() > 10);
  for (const auto& entry : cases) {
    CAPTURE(entry["name"].get<std::string>());
    const SubwordNmt segmenter = segmenter_of(entry);
    for (size_t i = 0; i < entry["lines"].size(); ++i) {
      CHECK(segmenter.segment_line(entry["lines"][i].get<std::string>()) == entry["expected"][i].get<std::string>());
    }
  }
}

TEST_CASE("subword-nmt: the corpus of the package's own tests") {
  if (!has_shared_data({"subword_nmt_tests"})) return;
  const Path folder = shared_data() / "subword_nmt_tests";
  const SubwordNmt segmenter("bpe.ref", read_file(folder / "bpe.ref"));
  TextFile corpus(folder / "corpus.en"), reference(folder / "corpus.bpe.ref.en");
  std::string_view line, expected;
  size_t lines = 0;
  for (; corpus.next(line) && reference.next(expected); ++lines) {
    const std::string segmented = segmenter.segment_line(line);
    if (segmented != expected) CHECK_MESSAGE(segmented == expected, "line ", lines + 1);
    if (undo_subword_nmt(segmented) != line) CHECK_MESSAGE(undo_subword_nmt(segmented) == line, "line ", lines + 1);
  }
  CHECK(lines == 1015);
}

TEST_CASE("subword-nmt: bytes as symbols") {
  const SubwordNmt segmenter("codes", "#version: 0.2 byte\n\xC3 \xA4\nx \xC3\xA4</w>\n");
  CHECK(segmenter.segment("x\xC3\xA4 \xC3\xA4x") == Pieces{"x@@", "\xC3@@", "\xA4", "\xC3\xA4@@", "x"});
}

TEST_CASE("subword-nmt: a word of 100,000 characters") {
  const SubwordNmt segmenter("codes", "#version: 0.2\na b\nab ab\nabab abab\n");
  std::string word;
  for (int i = 0; i < 50000; ++i) word += "ab";
  const Pieces pieces = segmenter.segment(word);
  CHECK(pieces.size() == 12503);  // 12499 of eight characters, "abab", "ab", and the last two, as b</w> is in no merge
  std::string joined;
  for (const auto& piece : pieces) joined += piece + " ";
  CHECK(undo_subword_nmt(joined) == word + " ");
}

TEST_CASE("subword-nmt: undoing follows sed -r 's/(@@ )|(@@ ?$)//g'") {
  CHECK(undo_subword_nmt("lo@@ wer ne@@ w") == "lower new");
  CHECK(undo_subword_nmt("lo@@") == "lo");
  CHECK(undo_subword_nmt("lo@@ ") == "lo");
  CHECK(undo_subword_nmt("a@@b @@@ c @ d@@ ") == "a@@b @c @ d");
  CHECK(undo_subword_nmt("") == "");
}

TEST_CASE("subword-nmt: broken codes are named by line") {
  const auto fails = [](std::string_view codes) { return error_of([&] { SubwordNmt("my.codes", codes); }); };
  CHECK(contains(fails("#version: 0.2\na b\na b c\n"), "my.codes:3: expected two symbols"));
  CHECK(contains(fails("#version: 0.2\na b\n\nb c\n"), "my.codes:3"));
  CHECK(contains(fails("#version: 0.3\na b\n"), "my.codes:1: expected codes of version 0.1 or 0.2, got 0.3"));
  CHECK(contains(fails(""), "my.codes"));
  CHECK(contains(fails("#version: 0.2\n"), "my.codes"));
}
