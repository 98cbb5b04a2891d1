#include "gyre/data/tokenizer/piece_notation.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "gyre/data/tokenizer/byte_vocabulary.h"
#include "gyre/data/tokenizer/dictionary_vocabulary.h"
#include "gyre/data/tokenizer/sentencepiece/sentencepiece_vocabulary.h"
#include "tests/data/text_files.h"

using namespace gyre;
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

TEST_CASE("piece notation: pieces that cannot be printed, or look alike") {
  const TemporaryDirectory directory;
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
