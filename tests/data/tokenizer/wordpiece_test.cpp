// Compares WordPiece with Hugging Face's BertTokenizer and its trainer (golden/make_wordpiece.py).
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "gyre/data/tokenizer/wordpiece/wordpiece_training.h"
#include "gyre/data/tokenizer/wordpiece/wordpiece_vocabulary.h"
#include "tests/data/text_files.h"
#include "tests/threads_in_scope.h"

using namespace gyre;
using Ids = std::vector<int32_t>;

namespace {

nlohmann::json expected_wordpiece() { return nlohmann::json::parse(read_file(golden("wordpiece.json"))); }

std::vector<std::string> pieces_of(const Vocabulary& vocabulary) {
  std::vector<std::string> pieces;
  for (int id = 0; id < vocabulary.size(); ++id) pieces.push_back(vocabulary.piece(id));
  return pieces;
}

}  // namespace

TEST_CASE_FIXTURE(InDirectory, "WordPiece: ids and decoded text equal those of Hugging Face's tokenizer") {
  const auto expected = expected_wordpiece();
  const Path text = write_text(directory, "vocab.txt", expected["vocabulary"].get<std::string>());
  write_wordpiece_vocabulary(text, false, directory / "cased");
  for (const std::string name : {"uncased", "cased"}) {
    const auto vocabulary = load_vocabulary(name == "cased" ? directory / "cased" : text);
    for (size_t i = 0; i < expected["lines"].size(); ++i) {
      const auto line = expected["lines"][i].get<std::string>();
      CAPTURE(name);
      CAPTURE(line);
      const auto ids = expected[name][i].get<Ids>();
      CHECK(vocabulary->encode(line) == ids);
      CHECK(vocabulary->decode(ids) == expected[name + "_decoded"][i].get<std::string>());
    }
    CHECK(vocabulary->pad() == 0);
    CHECK(vocabulary->unk() == 1);
    CHECK(vocabulary->piece(vocabulary->bos()) == "[CLS]");
    CHECK(vocabulary->piece(vocabulary->eos()) == "[SEP]");
  }
}

TEST_CASE("WordPiece: a special piece that is not in the vocabulary is ordinary text") {
  const WordPieceVocabulary vocabulary("vocab.txt", "[UNK]\n[CLS]\n[SEP]\n[\n]\nmask\n");
  CHECK(vocabulary.encode("[MASK][SEP][") == Ids{3, 5, 4, 2, 3});
}

TEST_CASE_FIXTURE(InDirectory,
                  "WordPiece: tokenizer_config.json in the folder of a vocab.txt says whether it is cased") {
  const Path file = write_text(directory, "vocab.txt", "[UNK]\n[CLS]\n[SEP]\nthe\nThe\n");
  const Path config = directory / "tokenizer_config.json";
  CHECK(load_vocabulary(file)->encode("The") == Ids{3});
  write_file(config, R"({"do_lower_case":false,"strip_accents":null})");
  const auto cased = load_vocabulary(file);
  CHECK(cased->encode("The") == Ids{4});
  const auto says_cased = error_of([&] { write_wordpiece_vocabulary(file, true, directory / "out"); });
  CHECK(contains(says_cased, "tokenizer_config.json in its folder says cased: give --cased"));
  CHECK(contains(error_of([&] { train_wordpiece({file}, {}, file); }), "in its folder says cased, got --lower-case"));
  TemporaryDirectory elsewhere;
  cased->save(elsewhere / "vocab.txt");
  CHECK(load_vocabulary(elsewhere / "vocab.txt")->encode("The") == Ids{4});
  CHECK(load_vocabulary(elsewhere / "vocab.txt")->fingerprint() == cased->fingerprint());
  const auto fails = [&](std::string_view content) {
    write_file(config, content);
    return error_of([&] { load_vocabulary(file); });
  };
  CHECK(contains(fails("{"), "tokenizer_config.json: the file is not valid JSON"));
  CHECK(contains(fails("[]"), "tokenizer_config.json: expected a JSON object"));
  CHECK(contains(fails(R"({"do_lower_case":1})"), "expected do_lower_case to be true or false, got 1"));
  CHECK(contains(fails(R"({"tokenizer_class":"MPNetTokenizer"})"), "such as BertTokenizer in tokenizer_config.json"));
}

TEST_CASE("WordPiece training: pieces equal those of Hugging Face's trainer, on any number of threads") {
  const auto expected = expected_wordpiece();
  for (const std::string name : {"uncased", "cased"}) {
    CAPTURE(name);
    TemporaryDirectory directory;
    std::string lines;
    for (const auto& [word, count] : expected["training"].items()) {
      for (int i = 0; i < count.get<int>(); ++i) lines += word + (i % 10 == 9 ? "\n" : " ");
      lines += "\n";
    }
    const Path text = write_text(directory, "text", lines);
    WordPieceTraining options{.lower_case = name == "uncased"};
    options.merges.size = expected[name + "_size"].get<int>();
    const auto reports = train_wordpiece({text}, options, directory / "vocab.txt");
    REQUIRE(reports.size() == 1);
    CHECK(reports[0].kept > 1000);
    const auto vocabulary = load_vocabulary(directory / "vocab.txt");
    auto pieces = pieces_of(*vocabulary);
    CHECK(std::equal(std::begin(kBertSpecials), std::end(kBertSpecials), pieces.begin()));
    std::sort(pieces.begin(), pieces.end());
    CHECK(pieces == expected[name + "_trained"].get<std::vector<std::string>>());
    CHECK(vocabulary->decode(vocabulary->encode("Abc")) == (options.lower_case ? "abc" : "Abc"));
    const std::string one = read_file(directory / "vocab.txt");
    const ThreadsInScope three(3);
    train_wordpiece({text}, options, directory / "vocab.txt");
    CHECK(read_file(directory / "vocab.txt") == one);
  }
}

TEST_CASE("WordPiece merges: the most frequent pair first, ties by id, words outside the alphabet ignored") {
  const std::vector<std::pair<std::string, uint64_t>> words{{"ab", 3}, {"aba", 2}, {"cb", 3}, {"zz", 1}};
  const auto pieces = wordpiece_pieces(words, {.size = 30, .min_frequency = 2, .limit_alphabet = 3});
  // The alphabet is a, b, c. "a ##b" occurs 5 times, "c ##b" 3 times, and then "ab ##a" twice.
  CHECK(std::vector(pieces.begin() + 5, pieces.end()) ==
        std::vector<std::string>{"a", "b", "c", "##a", "##b", "ab", "cb", "aba"});
  std::vector<uint64_t> reported;
  const auto on_merge = [&](uint64_t merges, uint64_t most) {
    CHECK(most == 20);
    reported.push_back(merges);
  };
  CHECK(wordpiece_pieces(words, {.size = 30, .min_frequency = 2, .limit_alphabet = 3}, {}, on_merge) == pieces);
  CHECK(reported == std::vector<uint64_t>{1, 2, 3});
  const auto repeated = wordpiece_pieces({{"aaaaa", 2}}, {.size = 30});
  CHECK(std::vector(repeated.begin() + 5, repeated.end()) ==
        std::vector<std::string>{"a", "##a", "##aa", "aaa", "aaaaa"});
  CHECK(wordpiece_pieces(words, {.size = 11, .limit_alphabet = 3}).size() == 11);
  CHECK(contains(error_of([&] { wordpiece_pieces(words, {.size = 9, .limit_alphabet = 3}); }),
                 "expected at least 10 pieces, the special ones and the characters, got 9"));
  CHECK(contains(error_of([&] { wordpiece_pieces(words, {.limit_alphabet = 0}); }), "--limit-alphabet"));
}

TEST_CASE_FIXTURE(InDirectory, "WordPiece training: text without a usable word is an error that leaves no file") {
  const Path text = write_text(directory, "text", std::string(101, 'a') + "\n\u200b\n");
  const auto error = error_of([&] { train_wordpiece({text}, {}, directory / "vocab.txt"); });
  CHECK(contains(error, "no usable word to train on"));
  CHECK_FALSE(std::filesystem::exists(directory / "vocab.txt"));
  CHECK_FALSE(std::filesystem::exists(directory / "tokenizer_config.json"));
}
