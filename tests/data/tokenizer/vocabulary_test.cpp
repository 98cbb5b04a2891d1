#include "gyre/data/tokenizer/vocabulary.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "gyre/data/tokenizer/byte_vocabulary.h"
#include "gyre/data/tokenizer/continuation.h"
#include "gyre/data/tokenizer/dictionary_vocabulary.h"
#include "gyre/data/tokenizer/piece_notation.h"
#include "gyre/data/tokenizer/sentencepiece/sentencepiece_vocabulary.h"
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

TEST_CASE_FIXTURE(InDirectory,
                  "subword-nmt vocabulary: a word in the dictionary is still split if the codes require it") {
  const Path codes = write_text(directory, "codes", "#version: 0.2\nl o\nlo w</w>\n");
  const Path dictionary = write_text(directory, "dict", "low\nnew\nn@@\ne@@\nw\nw@@\n@@@\n@\nlow\r 1\n\r 1\n");
  write_subword_nmt_vocabulary(codes, dictionary, 0, "@@", directory / "vocab");
  const auto vocabulary = load_vocabulary(directory / "vocab");
  CHECK(vocabulary->encode("low new") == Ids{3, 5, 6, 7});
  CHECK(vocabulary->encode("w@@") == Ids{8, 9, 10});
  CHECK(vocabulary->encode(" w \r low\r low\r\n") == Ids{7, 12, 0, 0, 8, 12, 3});
}

TEST_CASE_FIXTURE(InDirectory, "word vocabulary: lines with and without counts") {
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

TEST_CASE_FIXTURE(InDirectory, "byte vocabulary: no byte is unknown") {
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

TEST_CASE_FIXTURE(InDirectory, "vocabulary files: errors for other files name the file and the problem") {
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

namespace {

std::vector<int32_t> ids_of(const Vocabulary& v, const std::string& text) { return v.encode(text); }

}  // namespace

TEST_CASE("continuation: the text ends before the first stop string") {
  const ByteVocabulary vocabulary;
  const std::vector<std::string> stops{"end", "\n\n"};
  const auto prompt = ids_of(vocabulary, "It ");
  Continuation text(vocabulary, prompt, stops);
  CHECK(!text.set(ids_of(vocabulary, "begins, en")));
  CHECK(text.text() == "begins, en");
  CHECK(text.settled() == 8);  // "en" may begin "end"
  CHECK(!text.set(ids_of(vocabulary, "begins, enough\n")));
  CHECK(text.settled() == 14);
  CHECK(text.set(ids_of(vocabulary, "begins, enough\n\nend")));
  CHECK(text.text() == "begins, enough");
}

TEST_CASE("continuation: a space that the vocabulary drops from the prompt is not repeated") {
  const ByteVocabulary vocabulary;
  const auto continued = [&](const std::string& encoded, const std::string& text, const std::string& prompt_text) {
    const std::vector<std::string> stops;
    Continuation continuation(vocabulary, ids_of(vocabulary, encoded), stops, prompt_text);
    continuation.set(ids_of(vocabulary, text));
    return continuation.text();
  };
  CHECK(continued("He wants", " to", "He wants ") == "to");
  CHECK(continued("He wants ", "to", "He wants ") == "to");
  CHECK(continued("He wants ", " to", "He wants ") == " to");
  CHECK(continued("He wants", " to", "He wants") == " to");
}

TEST_CASE("continuation: only whole characters are settled") {
  const ByteVocabulary vocabulary;
  const std::vector<std::string> stops;
  const std::string characters = "a\xC3\xA9\xE6\xBC\xA2\xF0\x9F\x99\x82";  // characters of 1, 2, 3 and 4 bytes
  const size_t ends[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10};
  Continuation text(vocabulary, {}, stops);
  for (size_t bytes = 0; bytes <= characters.size(); ++bytes) {
    CAPTURE(bytes);
    text.set(ids_of(vocabulary, characters.substr(0, bytes)));
    CHECK(text.settled() == ends[bytes]);
  }
  text.set(ids_of(vocabulary, "a\xEF\xBF\xBD\xEF\xBF\xBD"));  // SentencePiece decodes two bytes so, until the next come
  CHECK(text.settled() == 1);
  text.set(ids_of(vocabulary,
                  "\xA9\xA9"
                  "b"));  // not UTF-8: nothing to wait for
  CHECK(text.settled() == 7);
  text.set(ids_of(vocabulary, "a\xE2\x82"));  // a character that is cut off
  CHECK(text.text() == "a\xEF\xBF\xBD");
}

using Ids = std::vector<int32_t>;

namespace {

// Checks that every id has its own notation: a line of all ids is read back.
void check_unique(const Vocabulary& vocabulary) {
  Ids all;
  for (int id = 0; id < vocabulary.size(); ++id) all.push_back(id);
  const PieceNotation notation(vocabulary);
  const std::string line = notation.write(all);
  CHECK(line.find('\n') == std::string::npos);
  CHECK(notation.read(line) == all);
}

// Writes the vocabulary of a golden case: a SentencePiece model, a vocab.txt, or codes with a dictionary.
Path write_vocabulary(const TemporaryDirectory& directory, const nlohmann::json& entry) {
  const auto write = [&](const char* name) { return write_text(directory, name, entry[name].get<std::string>()); };
  if (entry.contains("vocabulary")) return write("vocabulary");
  if (entry.contains("codes")) {
    write_subword_nmt_vocabulary(write("codes"), write("dictionary"), 0, "@@", directory / "vocab");
    return directory / "vocab";
  }
  std::string model;
  const std::string digits = entry["hex"];
  for (size_t i = 0; i < digits.size(); i += 2) model += char(std::stoi(digits.substr(i, 2), nullptr, 16));
  return write_text(directory, "vocab", model);
}

}  // namespace

TEST_CASE("piece notation: bytes") {
  const ByteVocabulary vocabulary;
  const PieceNotation notation(vocabulary);
  CHECK(notation.write(vocabulary.encode("a \n\xFF")) == "<0x61> <0x20> <0x0A> <0xFF>");
  CHECK(vocabulary.decode(notation.read("<s> <0x61>  <0x20> <unk> </s>")) == "a <unk>");
  check_unique(vocabulary);
}

TEST_CASE_FIXTURE(InDirectory, "piece notation: pieces that cannot be printed, or look alike") {
  const std::string strange = "a\tb\n<0x61>\na\x01\xC2\x85 7\n\xFF\n<unk>\n<id:7>\n</s>\n\u00a0\u3000\n<id:9>\n";
  write_word_vocabulary(write_text(directory, "dict", strange), 0, directory / "vocab");
  const auto vocabulary = load_vocabulary(directory / "vocab");
  check_unique(*vocabulary);
  const PieceNotation notation(*vocabulary);
  CHECK(notation.write(Ids{3, 4, 5, 6}) == "a<0x09>b <0x61> a<0x01><0xC2><0x85> <0xFF>");
  CHECK(notation.write(Ids{0, 7, 8}) == "<unk> <id:7> <id:8>");  // piece 8 is "<id:7>"
  CHECK(notation.write(Ids{2, 9, 10, 11}) == "</s> <id:9> \u00a0\u3000 <id:11>");
}

TEST_CASE("piece notation: an unknown piece or id is an error that shows it") {
  const ByteVocabulary vocabulary;
  const PieceNotation notation(vocabulary);
  CHECK(error_of([&] { notation.read("<0x61> a"); }) == "unknown piece \"a\"");
  CHECK(error_of([&] { read_ids("3 259", 259); }) == "expected ids from 0 to 258, got \"259\"");
  for (const char* word : {"-1", "1.5", "x", "3,", "99999999999", "+3"}) CHECK_THROWS_AS(read_ids(word, 259), Error);
  CHECK(read_ids("  3 258 ", 259) == Ids{3, 258});
  CHECK(read_ids("", 259).empty());
  CHECK(write_ids(Ids{3, 258}) == "3 258");
  CHECK(write_ids(Ids{}) == "");
}

TEST_CASE("piece notation: shows the pieces that sentencepiece, subword-nmt and tokenizers show") {
  const auto all = nlohmann::json::parse(read_file(golden("pieces.json")));
  REQUIRE(all["cases"].size() == 5);
  for (const auto& entry : all["cases"]) {
    CAPTURE(entry["name"].get<std::string>());
    const TemporaryDirectory directory;
    const Path file = write_vocabulary(directory, entry);
    const auto vocabulary = load_vocabulary(file);
    const PieceNotation notation(*vocabulary);
    check_unique(*vocabulary);
    for (size_t i = 0; i < all["lines"].size(); ++i) {
      std::string expected;
      for (const std::string piece : entry["pieces"][i]) expected += (expected.empty() ? "" : " ") + piece;
      const Ids ids = vocabulary->encode(all["lines"][i].get<std::string>());
      CHECK(notation.write(ids) == expected);
      CHECK(notation.read(expected) == ids);
    }
  }
}
