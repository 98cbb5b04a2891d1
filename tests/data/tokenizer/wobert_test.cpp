// Compares words and ids of Chinese text with jieba, WoBERT's rules and Hugging Face's BertTokenizer
// (golden/make_wobert.py).
#include <doctest/doctest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "gyre/core/error.h"
#include "gyre/data/text/utf8.h"
#include "gyre/data/tokenizer/tokenizer_choice.h"
#include "gyre/data/tokenizer/wobert/wobert_training.h"
#include "gyre/data/tokenizer/wobert/wobert_vocabulary.h"
#include "tests/data/golden_lines.h"
#include "tests/data/text_files.h"
#include "tests/shared_data.h"
#include "tests/threads_in_scope.h"

using namespace gyre;

namespace {

using Ids = std::vector<int32_t>;
using Lines = std::vector<std::string>;

nlohmann::json expected_wobert() { return nlohmann::json::parse(read_file(golden("wobert.json"))); }

std::string concatenated(const Lines& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

std::string join(const auto& items, const char* separator) {
  std::string text;
  for (const auto& item : items) text += (text.empty() ? "" : separator) + concat(item);
  return text;
}

Lines words_of(const JiebaSegmenter& segmenter, const std::string& line) {
  const auto words = segmenter.cut(line);
  return {words.begin(), words.end()};
}

// The vocabularies by their names in the golden file.
std::map<std::string, std::shared_ptr<const Vocabulary>> vocabularies(const std::string& pieces,
                                                                      const std::string& dictionary) {
  return {{"wobert", std::make_shared<WobertVocabulary>("vocab", wobert_bundle(pieces, true, dictionary))},
          {"wobert cased", std::make_shared<WobertVocabulary>("vocab", wobert_bundle(pieces, false, dictionary))},
          {"bert", std::make_shared<WordPieceVocabulary>("vocab", pieces)}};
}

void check_hashes(const Lines& lines, const std::string& pieces, const std::string& dictionary,
                  const nlohmann::json& expected) {
  const JiebaSegmenter segmenter("dictionary", dictionary);
  CHECK(hash_lines(lines, [&](const std::string& line) { return join(segmenter.cut(line), "|"); }) ==
        expected["cut"].get<std::string>());
  for (const auto& [name, vocabulary] : vocabularies(pieces, dictionary)) {
    CAPTURE(name);
    const auto& encoder = *vocabulary;
    CHECK(hash_lines(lines, [&](const std::string& line) { return join(encoder.encode(line), " "); }) ==
          expected[name].get<std::string>());
  }
}

// The special pieces, then the characters and every fourth word of the dictionary, then ASCII, as in make_wobert.py.
std::string pieces_from(const std::string& dictionary) {
  std::map<std::string, bool> taken;
  Lines pieces;
  const auto add = [&](const std::string& piece) {
    if (!std::exchange(taken[piece], true)) pieces.push_back(piece);
  };
  for (const std::string_view special : kBertSpecials) add(std::string(special));
  std::istringstream lines(dictionary);
  std::string line;
  for (size_t i = 0; std::getline(lines, line); ++i) {
    const std::string word = line.substr(0, line.find(' '));
    if (i % 4 == 0 || count_characters(word) == 1) add(word);
  }
  for (char c = 33; c < 127; ++c) {
    add({c});
    add({'#', '#', c});
  }
  return concatenated(pieces);
}

}  // namespace

TEST_CASE("WoBERT: words equal jieba's, and ids those of WoBERT's rules and of BertTokenizer") {
  const auto expected = expected_wobert();
  const auto dictionary = expected["dictionary"].get<std::string>();
  const JiebaSegmenter segmenter("dictionary", dictionary);
  const auto all = vocabularies(concatenated(expected["pieces"].get<Lines>()), dictionary);
  for (size_t i = 0; i < expected["lines"].size(); ++i) {
    const auto line = expected["lines"][i].get<std::string>();
    CAPTURE(line);
    CHECK(words_of(segmenter, line) == expected["cut"][i].get<Lines>());
    for (const auto& [name, vocabulary] : all) {
      CAPTURE(name);
      CHECK(vocabulary->encode(line) == expected[name][i].get<Ids>());
    }
  }
}

TEST_CASE("WoBERT: random lines equal jieba, WoBERT's rules and BertTokenizer") {
  const auto expected = expected_wobert();
  check_hashes(random_lines(expected, 20, /*spaces=*/false), concatenated(expected["pieces"].get<Lines>()),
               expected["dictionary"], expected["random"]);
}

TEST_CASE("WoBERT: 20,000 lines equal jieba, WoBERT's rules and BertTokenizer") {
  if (!require_shared_data({"chinese"})) return;
  const auto expected = expected_wobert();
  const std::string dictionary = read_file(shared_data() / "chinese" / "jieba_dict_small.txt");
  const std::string pieces = pieces_from(dictionary);
  for (const auto& [name, count] : expected["files"].items()) {
    CAPTURE(name);
    std::ifstream file(shared_data() / "chinese" / name);
    Lines lines;
    for (std::string line; lines.size() < count.get<size_t>();) {
      REQUIRE(std::getline(file, line));
      if (!line.empty()) lines.push_back(line);
    }
    check_hashes(lines, pieces, dictionary, expected["shared"][name]);
  }
}

TEST_CASE("jieba: dictionaries") {
  const auto cut = [](const std::string& dictionary, const std::string& line) {
    return words_of(JiebaSegmenter("dictionary", dictionary), line);
  };
  CHECK(cut("中国 5 ns\r\n", "中国") == Lines{"中国"});
  CHECK(cut("中国 5", "中国\r\n中") == Lines{"中国", "\r\n", "中"});
  CHECK(cut("中国 5 n v x", "中国") == Lines{"中国"});
  CHECK(cut("中国 9\n中国 0\n", "中国") == Lines{"中", "国"});
  CHECK(cut("中国 0\n中国 9\n", "中国") == Lines{"中国"});
  CHECK(cut("\uFEFF中国 9\n国人 9\n", "中国国人") == Lines{"中", "国", "国人"});
  const auto fails = [](const std::string& text) { return error_of([&] { JiebaSegmenter("words.txt", text); }); };
  CHECK(contains(fails("中国 5\n中国,5\n"),
                 "words.txt:2: expected \"word frequency\" or \"word frequency tag\" in UTF-8, got \"中国,5\""));
  for (const char* line :
       {"", "中", "中\t5", "中 国 5", "中  5", " 5", "中 -5", "中 5.0", "中 5x", "中 18446744073709551616", "\xFF 5"})
    CHECK(contains(fails(concat("中国 5\n", line, "\n")), "words.txt:2: expected \"word frequency\""));
  CHECK(contains(fails(""), "words.txt: expected words with frequencies above 0, found none"));
  CHECK(contains(fails("中国 0\n"), "expected words with frequencies above 0"));
  CHECK(contains(fails("中 18446744073709551615\n国 1\n"), "expected frequencies with a sum below 2^64"));
  for (const char* text : {"中\xE4\xB8", "\xF0\x9F\x98"})  // the second has the bytes of U+FFFD's length
    CHECK(contains(error_of([&] { cut("中国 5\n", text); }), "expected valid UTF-8"));
}

TEST_CASE_FIXTURE(InDirectory, "WoBERT: a vocab.txt and a dictionary become one file") {
  const Path pieces =
      write_text(directory, "vocab.txt", "[PAD]\r\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n中\n国\n中国\n##a\nA\na\n");
  const Path words = write_text(directory, "dictionary", "中国 5 ns\n");
  const TokenizerChoice choice{.kind = TokenizerKind::wobert, .dictionary = words};
  CHECK(load_vocabulary(pieces)->encode("中国A") == Ids{5, 6, 10});
  const auto vocabulary = load_vocabulary(pieces, choice);
  CHECK(vocabulary->kind() == "wobert");
  CHECK(vocabulary->encode("中国国A[MASK]") == Ids{7, 6, 10, 4});
  CHECK(vocabulary->decode(Ids{2, 7, 6, 10, 8, 3}) == "中国 国 aa");
  CHECK(vocabulary->bos() == 2);
  CHECK(vocabulary->pad() == 0);
  vocabulary->save(directory / "one");
  const auto loaded = load_vocabulary(directory / "one");
  CHECK(loaded->encode("中国") == Ids{7});
  CHECK(loaded->fingerprint() == vocabulary->fingerprint());
  CHECK(load_vocabulary(directory / "one", choice)->fingerprint() == vocabulary->fingerprint());
  write_file(directory / "tokenizer_config.json", R"({"do_lower_case":false})");
  CHECK(load_vocabulary(pieces, choice)->encode("中国A") == Ids{7, 9});
  const auto fails = [&](const Path& file, const TokenizerChoice& tokenizer) {
    return error_of([&] { load_vocabulary(file, tokenizer); });
  };
  CHECK(contains(fails(pieces, {.kind = TokenizerKind::wobert}), "--dictionary is missing"));
  CHECK(contains(fails(pieces, {.dictionary = words}), "--dictionary: expected --tokenizer wobert, got auto"));
  TokenizerChoice named;
  CHECK(contains(error_of([&] { OptionList::of(named).at("tokenizer").value.read({"jieba"}); }),
                 "expected one of auto, wobert; got 'jieba'"));
  CHECK(contains(fails(pieces, {.kind = TokenizerKind::wobert, .dictionary = pieces}),
                 "vocab.txt:1: expected \"word frequency\""));
  VocabularyBundle bytes{.kind = "bytes"};
  write_file(directory / "bytes", bytes.serialize());
  CHECK(contains(fails(directory / "bytes", choice), "expected BERT's vocab.txt for the tokenizer wobert, got a"));
  VocabularyBundle no_words = wobert_bundle("[UNK]\n[CLS]\n[SEP]\n", true, "");
  no_words.parts.erase("dictionary");
  write_file(directory / "no-words", no_words.serialize());
  CHECK(contains(fails(directory / "no-words", {}), "expected a part named dictionary"));
}

// ---- Tests the training of vocabularies of Chinese words -----------------------------------------------------------

namespace {

using Strings = std::vector<std::string>;

Strings pieces_after_specials(const Vocabulary& vocabulary) {
  Strings pieces;
  for (int id = int(std::size(kBertSpecials)); id < vocabulary.size(); ++id) pieces.push_back(vocabulary.piece(id));
  return pieces;
}

}  // namespace

TEST_CASE_FIXTURE(InDirectory, "WoBERT training: characters, then words and merges, the most frequent first") {
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

TEST_CASE_FIXTURE(InDirectory, "WoBERT training: errors") {
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
