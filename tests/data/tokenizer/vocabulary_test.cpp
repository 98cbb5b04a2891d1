#include "gyre/data/tokenizer/vocabulary.h"

#include <doctest/doctest.h>

#include "gyre/data/tokenizer/byte_vocabulary.h"
#include "gyre/data/tokenizer/dictionary_vocabulary.h"
#include "tests/data/text_files.h"

using namespace gyre;
using Ids = std::vector<int32_t>;

TEST_CASE("subword-nmt vocabulary: pieces, ids, re-splitting below the threshold, round trip through its file") {
  TemporaryDirectory directory;
  const Path codes = write_text(directory, "codes", "#version: 0.2\nl o\nlo w</w>\nlo w\ne r</w>\nlow er</w>\n");
  const Path dictionary = write_text(directory, "dict", "low 9\nlow@@ 8\ner 7\nlower 1\nn@@ 5\ne@@ 5\nw 5\n");
  const Path file = directory / "vocab.model";
  write_subword_nmt_vocabulary(codes, dictionary, 2, "@@", file);
  const auto vocabulary = load_vocabulary(file);
  CHECK(vocabulary->kind() == "subword-nmt");
  CHECK(vocabulary->size() == 9);  // "lower" is below the threshold
  CHECK(vocabulary->piece(3) == "low");
  CHECK(vocabulary->encode("low lower new q") == Ids{3, 4, 5, 6, 7, 8, 0});
  CHECK(vocabulary->decode(Ids{1, 3, 4, 5, 6, 7, 8, 0, 2}) == "low lower new <unk>");
  CHECK_THROWS_AS(vocabulary->decode(Ids{9}), Error);
  CHECK_THROWS_AS(vocabulary->piece(-1), Error);
  vocabulary->save(directory / "copy");
  CHECK(load_vocabulary(directory / "copy")->fingerprint() == vocabulary->fingerprint());
  write_subword_nmt_vocabulary(codes, dictionary, 1, "@@", directory / "other");
  CHECK(load_vocabulary(directory / "other")->fingerprint() != vocabulary->fingerprint());
  CHECK(load_vocabulary(directory / "other")->encode("lower") == Ids{6});
}

TEST_CASE("subword-nmt vocabulary: a word in the dictionary is still split if the codes require it") {
  TemporaryDirectory directory;
  const Path codes = write_text(directory, "codes", "#version: 0.2\nl o\nlo w</w>\n");
  const Path dictionary = write_text(directory, "dict", "low\nnew\nn@@\ne@@\nw\nw@@\n@@@\n@\nlow\r 1\n\r 1\n");
  write_subword_nmt_vocabulary(codes, dictionary, 0, "@@", directory / "vocab");
  const auto vocabulary = load_vocabulary(directory / "vocab");
  CHECK(vocabulary->encode("low new") == Ids{3, 5, 6, 7});
  CHECK(vocabulary->encode("w@@") == Ids{8, 9, 10});
  CHECK(vocabulary->encode(" w \r low\r low\r\n") == Ids{7, 12, 0, 0, 8, 12, 3});
}

TEST_CASE("word vocabulary: lines with and without counts") {
  TemporaryDirectory directory;
  const Path dictionary = write_text(directory, "dict", "\xEF\xBB\xBFthe 100\r\ncat\ndog 1\n");
  write_word_vocabulary(dictionary, 2, directory / "vocab");
  const auto vocabulary = load_vocabulary(directory / "vocab");
  CHECK(vocabulary->kind() == "words");
  CHECK(vocabulary->encode("  the cat  dog <s> ") == Ids{3, 4, 0, 0});
  CHECK(vocabulary->decode(Ids{3, 4, 2}) == "the cat");
}

TEST_CASE("dictionaries: errors for invalid lines name the line") {
  const auto fails = [](std::string_view text) { return error_of([&] { Dictionary("dict.txt", text, 0); }); };
  CHECK(contains(fails("a 1\nb x\n"), "dict.txt:2: expected \"token count\", got \"b x\""));
  CHECK(contains(fails("a 1\n\n"), "dict.txt:2"));
  CHECK(contains(fails("a 1\na 2\n"), "dict.txt:2: the token \"a\" occurs twice"));
  CHECK(contains(fails("a 1 2\n"), "dict.txt:1"));
  CHECK(contains(fails(""), "dict.txt"));
}

TEST_CASE("byte vocabulary: no byte is unknown") {
  TemporaryDirectory directory;
  ByteVocabulary().save(directory / "vocab");
  const auto vocabulary = load_vocabulary(directory / "vocab");
  CHECK(vocabulary->kind() == "bytes");
  CHECK(vocabulary->size() == 259);
  std::string all;
  for (int b = 0; b < 256; ++b) all += char(b);
  CHECK(vocabulary->decode(vocabulary->encode(all)) == all);
  CHECK(vocabulary->encode("A") == Ids{68});
  CHECK(vocabulary->piece(68) == "<0x41>");
  CHECK(vocabulary->piece(2) == "</s>");
}

TEST_CASE("vocabulary files: the error for a directory names the file in it") {
  struct Case {
    std::vector<const char*> files;
    const char* named;  // nullptr: none
  };
  const Case cases[] = {
      {{"vocab.json", "merges.txt", "tokenizer.json", "tokenizer.model", "config.json"}, "tokenizer.json"},
      {{"tokenizer.model", "config.json"}, "tokenizer.model"},
      {{"spiece.model"}, "spiece.model"},
      {{"vocab.json", "merges.txt"}, "vocab.json"},
      {{"vocab.model", "config.json", "train.toml"}, "vocab.model"},
      {{"vocab.txt"}, "vocab.txt"},
      {{"config.json"}, nullptr},
      {{}, nullptr},
  };
  for (const Case& c : cases) {
    const TemporaryDirectory directory;
    for (const char* file : c.files) write_text(directory, file, "{}");
    const std::string error = error_of([&] { load_vocabulary(directory.path()); });
    CAPTURE(error);
    CHECK(contains(error, directory.path().string() + ": expected a file, got a directory"));
    if (c.named != nullptr) {
      CHECK(error.ends_with(": give " + (directory / c.named).string()));
    } else {
      CHECK(contains(error, "without a tokenizer.json"));
    }
  }
}

TEST_CASE("vocabulary files: the error for a directory names a file that can be read") {
  const auto named = [](std::initializer_list<std::pair<const char*, std::string_view>> files) {
    const TemporaryDirectory directory;
    for (const auto& [name, content] : files) write_text(directory, name, content);
    const std::string error = error_of([&] { load_vocabulary(directory.path()); });
    const size_t slash = error.rfind('/');
    return contains(error, ": give ") ? error.substr(slash + 1) : error;
  };
  constexpr std::string_view kUnigram = R"({"model":{"type":"Unigram","vocab":[["a",0]]}})";
  const std::string bytes = ByteVocabulary().content();
  CHECK(named({{"tokenizer.json", kUnigram}, {"spiece.model", bytes}}) == "spiece.model");
  CHECK(named({{"vocab.bak", "backup"}, {"vocab.model", bytes}}) == "vocab.model");
  CHECK(named({{"vocab.bak", bytes}, {"vocab.model", bytes}}) == "vocab.model");
  CHECK(named({{"vocab.log", "lines"}, {"vocab.spm", bytes}}) == "vocab.spm");
  CHECK(contains(named({{"vocab.bak", "backup"}}), "without a tokenizer.json"));
}

TEST_CASE("vocabulary files: errors for other files name the file and the problem") {
  TemporaryDirectory directory;
  const auto fails = [&](std::string_view content) {
    const Path path = write_text(directory, "v", content);
    const std::string error = error_of([&] { load_vocabulary(path); });
    CHECK(contains(error, path.string()));
    return error;
  };
  CHECK(contains(fails(""), "expected a SentencePiece model"));
  CHECK(contains(fails("the quick brown fox\n"), "expected a SentencePiece model"));
  CHECK(contains(fails("\n\x05 garbage that is no model"), "expected a SentencePiece model"));
  CHECK(contains(fails(R"({"format":"gyre-vocabulary","version":9,"kind":"bytes"})"), "expected version 1, got 9"));
  CHECK(contains(fails(R"({"format":"gyre-vocabulary","version":1)"), ":1: "));
  CHECK(contains(fails(R"({"format":"gyre-vocabulary","version":1,"kind":"words","options":{},"parts":{"dictionary":9}}
abc)"),
                 "truncated: expected 9 bytes of dictionary, got 3"));
  CHECK(contains(fails(R"({"format":"gyre-vocabulary","version":1,"kind":"words","options":{"threshold":0},"parts":{}}
)"),
                 "expected a part named dictionary"));
  CHECK(contains(fails(R"({"format":"gyre-vocabulary","version":1,"kind":"lines","options":{},"parts":{}}
)"),
                 "got lines"));
}
