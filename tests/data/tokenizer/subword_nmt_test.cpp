#include "gyre/data/tokenizer/subword_nmt/subword_nmt.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "gyre/data/text/labeled_text.h"
#include "gyre/data/tokenizer/dictionary_vocabulary.h"
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

// The pieces of all words of a line, without empty ones.
Pieces segment(const SubwordNmt& segmenter, std::string_view line) {
  Pieces pieces;
  for (const std::string_view word : SubwordNmt::words(line)) {
    for (std::string& piece : segmenter.segment_word(word)) pieces.push_back(std::move(piece));
  }
  std::erase(pieces, std::string());
  return pieces;
}

Pieces split_at_spaces(std::string_view line) {
  const auto words = SubwordNmt::words(line);
  return {words.begin(), words.end()};
}

std::string join(const Pieces& pieces) {
  std::string text;
  for (const std::string& piece : pieces) text += (text.empty() ? "" : " ") + piece;
  return text;
}

}  // namespace

TEST_CASE("subword-nmt: segments lines like the package") {
  const auto cases = nlohmann::json::parse(read_file(golden("subword_nmt.json")));
  REQUIRE(cases.size() > 10);
  for (const auto& entry : cases) {
    CAPTURE(entry["name"].get<std::string>());
    const SubwordNmt segmenter = segmenter_of(entry);
    for (size_t i = 0; i < entry["lines"].size(); ++i) {
      CHECK(segment(segmenter, entry["lines"][i].get<std::string>()) ==
            split_at_spaces(entry["expected"][i].get<std::string>()));
    }
  }
}

TEST_CASE("subword-nmt: segments the corpus of the package's tests") {
  if (!require_shared_data({"subword_nmt_tests"})) return;
  const Path folder = shared_data() / "subword_nmt_tests";
  const SubwordNmt segmenter("bpe.ref", read_file(folder / "bpe.ref"));
  TextFile corpus(folder / "corpus.en"), reference(folder / "corpus.bpe.ref.en");
  std::string_view line, expected;
  size_t lines = 0;
  for (; corpus.next(line) && reference.next(expected); ++lines) {
    CAPTURE(lines + 1);
    const Pieces pieces = segment(segmenter, line);
    CHECK(pieces == split_at_spaces(expected));
    CHECK(undo_subword_nmt(join(pieces)) == join(split_at_spaces(line)));
  }
  CHECK(lines == 1015);
}

TEST_CASE("subword-nmt: bytes as symbols") {
  const SubwordNmt segmenter("codes", "#version: 0.2 byte\n\xC3 \xA4\nx \xC3\xA4</w>\n");
  CHECK(segment(segmenter, "x\xC3\xA4 \xC3\xA4x") == Pieces{"x@@", "\xC3@@", "\xA4", "\xC3\xA4@@", "x"});
}

TEST_CASE("subword-nmt: a word of 100,000 characters") {
  const SubwordNmt segmenter("codes", "#version: 0.2\na b\nab ab\nabab abab\n");
  std::string word;
  for (int i = 0; i < 50000; ++i) word += "ab";
  const Pieces pieces = segment(segmenter, word);
  // 12499 pieces of eight characters, "abab", "ab", and the last two characters, because no merge contains b</w>.
  CHECK(pieces.size() == 12503);
  CHECK(undo_subword_nmt(join(pieces)) == word);
}

TEST_CASE("subword-nmt: undoing follows sed -r 's/(@@ )|(@@ ?$)//g'") {
  CHECK(undo_subword_nmt("lo@@ wer ne@@ w") == "lower new");
  CHECK(undo_subword_nmt("lo@@") == "lo");
  CHECK(undo_subword_nmt("lo@@ ") == "lo");
  CHECK(undo_subword_nmt("a@@b @@@ c @ d@@ ") == "a@@b @c @ d");
  CHECK(undo_subword_nmt("") == "");
}

TEST_CASE("subword-nmt: errors for invalid codes name the line") {
  const auto fails = [](std::string_view codes) { return error_of([&] { SubwordNmt("my.codes", codes); }); };
  CHECK(contains(fails("#version: 0.2\na b\na b c\n"), "my.codes:3: expected two symbols"));
  CHECK(contains(fails("#version: 0.2\na b\n\nb c\n"), "my.codes:3"));
  CHECK(contains(fails("#version: 0.3\na b\n"), "my.codes:1: expected codes of version 0.1 or 0.2, got 0.3"));
  CHECK(contains(fails(""), "my.codes"));
  CHECK(contains(fails("#version: 0.2\n"), "my.codes"));
}
