#include "gyre/data/tokenizer/subword_nmt/subword_nmt.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "gyre/core/random.h"
#include "gyre/data/text/labeled_text.h"
#include "gyre/data/tokenizer/dictionary_vocabulary.h"
#include "gyre/data/tokenizer/subword_nmt/subword_nmt_training.h"
#include "tests/data/text_files.h"
#include "tests/shared_data.h"
#include "tests/threads_in_scope.h"

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

namespace {

nlohmann::json read_golden() { return nlohmann::json::parse(read_file(golden("subword_nmt_learning.json"))); }

CountedWords count(const std::vector<Path>& files) {
  std::vector<LineReport> reports;
  return count_words(
      files, TrainingText{},
      [](std::string_view line, WordCounts& counts) {
        for (const std::string_view word : SubwordNmt::words(line)) counts.add(word);
      },
      reports);
}

}  // namespace

TEST_CASE_FIXTURE(InDirectory, "subword-nmt: learns the merges that the package learns") {
  const auto cases = read_golden().at("cases");
  REQUIRE(cases.size() == 8);
  for (const auto& entry : cases) {
    CAPTURE(entry["name"].get<std::string>());
    std::string text;
    for (const auto& line : entry["lines"]) text += line.get<std::string>() + "\n";
    uint64_t reported = 0;
    const std::string codes = learn_merges(count({write_text(directory, "text", text)}), entry["merges"],
                                           entry["min_frequency"], [&](uint64_t n, uint64_t) { reported = n; });
    CHECK(codes == entry["codes"].get<std::string>());
    CHECK(reported + 1 == uint64_t(std::count(codes.begin(), codes.end(), '\n')));
  }
}

TEST_CASE("subword-nmt: learns the merges that the package learns from whole corpora") {
  const auto shared = read_golden().at("shared");
  REQUIRE(shared.size() == 3);
  for (const auto& entry : shared) {
    std::vector<Path> files;
    for (const auto& file : entry["files"]) {
      const std::string name = file;
      if (!require_shared_data({name.c_str()})) return;
      files.push_back(shared_data() / name);
    }
    CAPTURE(files.front().string());
    const std::string codes = learn_merges(count(files), entry["merges"], entry["min_frequency"]);
    CHECK(hash_name(codes) == entry["hash"].get<uint64_t>());
  }
  const Path folder = shared_data() / "subword_nmt_tests";  // files of the package's own tests
  CHECK(learn_merges(count({folder / "corpus.en"}), 1000, 2) == read_file(folder / "bpe.ref"));
}

TEST_CASE("subword-nmt: a learned vocabulary does not depend on the threads, and equals one made from its files") {
  const TemporaryDirectory directory;
  const std::vector<Path> files{write_text(directory, "a", "low lower lowest\n\nnew newer\tx caf\u00e9\n"),
                                write_text(directory, "b", "wide wider widest low\r\nnewest")};
  const auto learn = [&](const std::string& name, int threads) {
    const ThreadsInScope scope(threads);
    const auto reports = train_subword_nmt(files, {.merges = 12}, directory / name, directory / (name + ".codes"));
    REQUIRE(reports.size() == 2);
    CHECK(reports[0].kept == 2);
    CHECK(reports[0].of(BadLine::empty).count == 1);
    return read_file(directory / name);
  };
  const std::string one = learn("one", 1);
  CHECK(learn("three", 3) == one);
  CHECK(read_file(directory / "one.codes") == read_file(directory / "three.codes"));
  const auto vocabulary = load_vocabulary(directory / "one");
  CHECK(vocabulary->decode(vocabulary->encode("lowest newer")) == "lowest newer");

  std::string dictionary;
  for (int id = 3; id < vocabulary->size(); ++id) dictionary += vocabulary->piece(id) + "\n";
  write_subword_nmt_vocabulary(directory / "one.codes", write_text(directory, "dict", dictionary), 0, "@@",
                               directory / "two");
  const auto converted = load_vocabulary(directory / "two");
  for (const char* line : {"low lower lowest", "new newer\tx caf\u00e9", "wide wider widest low"}) {
    CHECK(converted->encode(line) == vocabulary->encode(line));
    for (const int32_t id : vocabulary->encode(line)) CHECK(id != vocabulary->unk());
  }
}

TEST_CASE_FIXTURE(InDirectory, "subword-nmt: learning rejects bad options and text without merges") {
  const std::vector<Path> files{write_text(directory, "text", "a b c\n")};
  const auto fails = [&](const SubwordNmtTraining& options) {
    return error_of([&] { train_subword_nmt(files, options, directory / "out", ""); });
  };
  CHECK(contains(fails({}), "no pair of characters occurs 2 times"));
  CHECK(contains(fails({.merges = 0}), "--merges: expected 1 to"));
  CHECK(contains(fails({.min_frequency = 0}), "--min-frequency: expected at least 1, got 0"));
  for (const char* separator : {"", "@ ", "\n", "\r", "\xFF"})
    CHECK(contains(fails({.separator = separator}), "--separator: expected UTF-8 text of 1 to 100 bytes"));
  CHECK(!std::filesystem::exists(directory / "out"));
}
