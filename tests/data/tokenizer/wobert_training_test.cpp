// Tests the training of vocabularies of Chinese words.
#include "gyre/data/tokenizer/wobert/wobert_training.h"

#include <doctest/doctest.h>

#include "gyre/data/tokenizer/wobert/wobert_vocabulary.h"
#include "tests/data/text_files.h"
#include "tests/threads_in_scope.h"

using namespace gyre;

namespace {

using Strings = std::vector<std::string>;

Strings pieces_after_specials(const Vocabulary& vocabulary) {
  Strings pieces;
  for (int id = int(std::size(kBertSpecials)); id < vocabulary.size(); ++id) pieces.push_back(vocabulary.piece(id));
  return pieces;
}

}  // namespace

TEST_CASE("WoBERT training: characters, then words and merges, the most frequent first") {
  TemporaryDirectory directory;
  const Path words = write_text(directory, "dictionary", "中国 50 ns\n国人 50 n\n人中 2 n\nc++ 9 n\n");
  const Path text = write_text(directory, "text", "中国中国中国 国人，Ab ab\nAB ab c++ c++ c++\n人中 国人 中国\n");
  WobertTraining options;
  options.merges.size = 100;
  const auto reports = train_wobert({text}, words, options, directory / "vocab");
  REQUIRE(reports.size() == 1);
  CHECK(reports[0].kept == 3);
  const auto vocabulary = load_vocabulary(directory / "vocab");
  CHECK(vocabulary->kind() == "wobert");
  // 中国 and "ab" occur 4 times, c++ 3 times, 国人 twice, and 人中 once.
  CHECK(pieces_after_specials(*vocabulary) ==
        Strings{"+", "a", "b", "c", "中", "人", "国", "，", "##b", "中国", "ab", "c++", "国人"});
  CHECK(vocabulary->decode(vocabulary->encode("C++中国人中AB")) == "c++ 中国 人 中 ab");
  const std::string one = read_file(directory / "vocab");
  const ThreadsInScope three(3);
  train_wobert({text}, words, options, directory / "vocab");
  CHECK(read_file(directory / "vocab") == one);

  options.merges.size = 18;
  options.lower_case = false;
  train_wobert({text}, words, options, directory / "cased");
  const auto cased = load_vocabulary(directory / "cased");
  CHECK(cased->size() == 18);
  CHECK(cased->decode(cased->encode("Ab中国")) == "Ab 中国");
}

TEST_CASE("WoBERT training: errors") {
  TemporaryDirectory directory;
  const Path words = write_text(directory, "dictionary", "中国 50 ns\n");
  const Path text = write_text(directory, "text", "中国\n");
  const auto fails = [&](const Path& file, const WobertTraining& options) {
    const auto error = error_of([&] { train_wobert({file}, words, options, directory / "vocab"); });
    CHECK_FALSE(std::filesystem::exists(directory / "vocab"));
    return error;
  };
  WobertTraining small;
  small.merges.size = 6;
  CHECK(contains(fails(text, small), "--size: expected at least 7 pieces"));
  small.merges.size = 0;
  CHECK(contains(fails(text, small), "--size: expected 1 to"));
  CHECK(contains(fails(write_text(directory, "blank", "\u200b\n"), {}), "no usable word to train on"));
}
