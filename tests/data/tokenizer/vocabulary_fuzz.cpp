// Fuzzes the vocabulary formats that Gyre parses itself: every damaged file gives a working vocabulary or an Error with
// its name, and memory use is bounded by a multiple of the file's size.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gyre/data/text/utf8.h"
#include "gyre/data/tokenizer/vocabulary_bundle.h"
#include "tests/allocation_peak.h"
#include "tests/data/text_files.h"
#include "tests/fuzz_json.h"

using namespace gyre;

namespace {

using Strings = std::vector<std::string>;

const Strings& texts() {
  static const Strings lines{"",
                             "  ",
                             "low lower lowest new",
                             "The caf\u00e9, \u4e2d\u6587 [MASK][SEP] o\u0301\u0301 [UNK",
                             std::string(300, 'l') + " @@ </w> ##er <unk> </s> l@@ @@",
                             "\t\r \xF0\x9F\x98\x80\xF0\x9F\x98\x80 \u200b\u00a0"};
  return lines;
}

// Checks the properties of every vocabulary, independent of its pieces.
void check_works(const Vocabulary& vocabulary) {
  REQUIRE(vocabulary.size() > 0);
  const auto is_id = [&](int id) { return id >= 0 && id < vocabulary.size(); };
  if (vocabulary.has_ends()) CHECK((is_id(vocabulary.bos()) && is_id(vocabulary.eos())));
  CHECK((vocabulary.unk() == -1 || is_id(vocabulary.unk())));
  CHECK((vocabulary.pad() == -1 || is_id(vocabulary.pad())));
  std::vector<int32_t> all;
  for (int id = 0; id < vocabulary.size(); ++id) {
    vocabulary.piece(id);
    all.push_back(id);
  }
  Strings lines = texts();
  lines.push_back(vocabulary.decode(all));
  for (const std::string& line : lines) {
    if (first_invalid_utf8(line)) continue;  // pieces may contain any bytes
    const auto ids = vocabulary.encode(line);
    for (const int32_t id : ids) CHECK(is_id(id));
    vocabulary.decode(ids);
  }
  CHECK_THROWS_AS(vocabulary.piece(vocabulary.size()), Error);
}

// Removes, copies, replaces or extends a line, or damages bytes.
void damage_lines(Fuzz& fuzz, std::string& text, const Strings& strange) {
  if (fuzz.one_in(3)) return fuzz.damage(text);
  Strings lines{""};
  for (const char c : text) c == '\n' ? void(lines.emplace_back()) : lines.back().push_back(c);
  const auto place = [&] { return lines.begin() + std::ptrdiff_t(fuzz.below(lines.size())); };
  const auto chosen = place();
  const std::string line = *chosen;
  const size_t what = fuzz.below(4);
  if (what == 0) lines.erase(chosen);
  if (what == 1) lines.insert(lines.begin() + std::ptrdiff_t(fuzz.below(lines.size() + 1)), line);
  if (what == 2) *chosen = fuzz.pick(strange);
  if (what == 3) *chosen += fuzz.pick(strange) + *place();
  text.clear();
  for (size_t i = 0; i < lines.size(); ++i) text += (i == 0 ? "" : "\n") + lines[i];
}

// Damages a part up to three times, usually at least once.
void damage_part(Fuzz& fuzz, std::string& text, const Strings& strange) {
  for (size_t i = fuzz.below(4); i > 0; --i) damage_lines(fuzz, text, strange);
}

// Joins the parts with their correct sizes. Sometimes damages the JSON line before them, or any bytes.
std::string damaged_bundle(Fuzz& fuzz, const VocabularyBundle& bundle) {
  static const Strings words{"format",    "version", "kind",        "options",    "parts",      "codes",
                             "threshold", "words",   "subword-nmt", "wordpiece",  "dictionary", "separator",
                             "bytes",     "@@",      "vocabulary",  "lower_case", "wobert",     "byte-bpe"};
  std::string content = bundle.serialize();
  if (fuzz.one_in(3)) {
    const size_t end = content.find('\n');
    std::string header = content.substr(0, end);
    damage_json(fuzz, header, words);
    content.replace(0, end, header);
  }
  if (fuzz.one_in(16)) fuzz.damage(content);
  return content;
}

// Loads a file and uses the vocabulary, and checks that memory use is bounded by the file's size.
class Reader {
 public:
  const Path& path() const { return path_; }
  void read(const std::string& content) {
    constexpr size_t kFactor = 1024, kFixed = 1 << 17;  // a merge of three bytes in the file needs nodes and strings
    put_file(path_, content);
    const AllocationPeak peak;
    try {
      check_works(*load_vocabulary(path_));
      ++accepted_;
    } catch (const Error& error) {
      const std::string message = error.what();
      CHECK(contains(message, directory_.path().string()));
      CHECK(message.size() < 1000);
      ++refused_;
    }
    CHECK(peak.bytes() < kFactor * content.size() + kFixed);
  }
  ~Reader() { MESSAGE(accepted_, " read, ", refused_, " rejected"); }

 private:
  TemporaryDirectory directory_;
  Path path_ = directory_ / "vocab";
  size_t accepted_ = 0, refused_ = 0;
};

const Strings& strange_lines() {
  static const Strings lines{"",
                             " ",
                             "\r",
                             "[UNK]",
                             "[PAD]",
                             "##",
                             "<unk>",
                             "</s> 7",
                             "@@",
                             "@@ 1",
                             "low 18446744073709551616",
                             "low -1",
                             "#version: 0.1",
                             "#version: 0.2 byte",
                             "#version: 0.2.0.0",
                             "#version: ",
                             "</w> </w>",
                             "</ w>",
                             "l </w>",
                             "\xEF\xBB\xBFlow",
                             "\u4e2d\u6587 0",
                             "\u4e2d 9 n",
                             "\xff \xc3",
                             std::string(1, '\0') + " x",
                             std::string(3000, 'x'),
                             "x " + std::string(3000, '9')};
  return lines;
}

constexpr const char* kPieces =
    "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nlow\n##er\n##e\nl\n##l\nn\n##ew\n,\n\u4e2d\ncafe\n";
constexpr const char* kDictionary = "low 9\nlow@@ 8\ner 7\nlower 1\r\nn@@ 5\ne@@ 5\nw 5\ncaf\u00e9 0\nl@@\n";
constexpr const char* kJieba = "\u4e2d\u6587 9 n\n\u4e2d 3\nlow 7 eng\nlowest 0 n\r\nc++ 18446744073709551000\n";
constexpr const char* kCodes = "#version: 0.2\nl o\nlo w</w>\nlo w\ne r</w>\nlow er</w>\ne w</w>\nn ew</w>\n";
constexpr const char* kOldCodes = "l o\nlo w\ne r\nlow er\nlower </w>\n";

std::string deep(size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); }

}  // namespace

TEST_CASE("vocabulary: damaged vocab.txt and tokenizer_config.json are read or rejected") {
  static const Strings words{"do_lower_case", "strip_accents", "tokenize_chinese_chars", "BertTokenizer"};
  Reader reader;
  fuzz(3000, [&](Fuzz& fuzz) {
    std::string pieces = kPieces;
    damage_part(fuzz, pieces, strange_lines());
    std::string config =
        R"({"do_lower_case":false,"strip_accents":null,"added_tokens_decoder":{"0":{"content":"[PAD]"}}})";
    if (fuzz.one_in(2)) fuzz.one_in(4) ? fuzz.damage(config) : damage_json(fuzz, config, words);
    const Path beside = reader.path().parent_path() / "tokenizer_config.json";
    fuzz.one_in(4) ? void(std::filesystem::remove(beside)) : put_file(beside, config);
    reader.read(pieces);
  });
}

TEST_CASE("vocabulary: damaged files of words and of WordPiece's pieces are read or rejected") {
  Reader reader;
  fuzz(3000, [&](Fuzz& fuzz) {
    const bool is_words = fuzz.one_in(2);
    std::string part = is_words ? kDictionary : kPieces;
    damage_part(fuzz, part, strange_lines());
    reader.read(damaged_bundle(
        fuzz, is_words ? VocabularyBundle{"words", {{"threshold", 2}}, {{"dictionary", part}}}
                       : VocabularyBundle{"wordpiece", {{"lower_case", false}}, {{"vocabulary", part}}}));
  });
}

TEST_CASE("vocabulary: damaged files of WoBERT's pieces and words are read or rejected") {
  Reader reader;
  fuzz(3000, [&](Fuzz& fuzz) {
    std::string pieces = kPieces, words = kJieba;
    if (fuzz.one_in(2)) damage_part(fuzz, pieces, strange_lines());
    if (fuzz.one_in(2)) damage_part(fuzz, words, strange_lines());
    reader.read(damaged_bundle(
        fuzz, {"wobert", {{"lower_case", fuzz.one_in(2)}}, {{"dictionary", words}, {"vocabulary", pieces}}}));
  });
}

TEST_CASE("vocabulary: damaged subword-nmt codes and dictionaries are read or rejected") {
  Reader reader;
  fuzz(4000, [&](Fuzz& fuzz) {
    std::string codes = fuzz.one_in(3) ? kOldCodes : kCodes, dictionary = kDictionary;
    if (fuzz.one_in(2)) damage_part(fuzz, codes, strange_lines());
    if (fuzz.one_in(2)) damage_part(fuzz, dictionary, strange_lines());
    reader.read(damaged_bundle(fuzz, {"subword-nmt",
                                      {{"separator", fuzz.one_in(8) ? "e" : "@@"}, {"threshold", fuzz.below(3)}},
                                      {{"codes", codes}, {"dictionary", dictionary}}}));
  });
}

TEST_CASE("vocabulary: damaged tokenizer.json files of byte-level BPE are read or rejected") {
  static const Strings words{"model",  "merges", "added_tokens",  "ByteLevel", "Sequence", "Split", "pre_tokenizer",
                             "Digits", "NFC",    "pretokenizers", "content",   "special",  "id",    "<|endoftext|>"};
  const std::string tokenizer = read_file(golden("byte_bpe/gpt2.json"));
  Reader reader;
  fuzz(300, [&](Fuzz& fuzz) {
    std::string damaged = tokenizer;
    fuzz.one_in(3) ? fuzz.damage(damaged) : damage_json(fuzz, damaged, words);
    if (fuzz.one_in(2)) return reader.read(damaged);
    reader.read(damaged_bundle(
        fuzz, {"byte-bpe", {{"bos", ""}, {"eos", ""}, {"size", fuzz.below(1000)}}, {{"tokenizer", damaged}}}));
  });
}

TEST_CASE("vocabulary: damaged tokenizer.json files of every kind are read or rejected") {
  static const Strings words{"model",     "type",    "Sequence", "Split",  "Regex",     "String",      "pattern",
                             "behavior",  "Replace", "content",  "prefix", "unk_token", "Whitespace",  "Metaspace",
                             "Lowercase", "Prepend", "decoder",  "Strip",  "Fuse",      "single_word", "normalized"};
  const auto all = nlohmann::json::parse(read_file(golden("tokenizers.json")))["tokenizers"];
  Reader reader;
  fuzz(300, [&](Fuzz& fuzz) {
    std::string damaged = all[fuzz.below(all.size())]["tokenizer"].dump();
    fuzz.one_in(3) ? fuzz.damage(damaged) : damage_json(fuzz, damaged, words);
    reader.read(damaged);
  });
}

TEST_CASE("vocabulary: damaged vocab.json and merges.txt are read or rejected") {
  const auto model = nlohmann::json::parse(read_file(golden("byte_bpe/gpt2.json")))["model"];
  std::string lines = "#version: 0.2\n";
  for (const auto& merge : model["merges"])
    lines += merge[0].get<std::string>() + " " + merge[1].get<std::string>() + "\n";
  Reader reader;
  fuzz(300, [&](Fuzz& fuzz) {
    std::string pieces = model["vocab"].dump(), merges = lines;
    if (fuzz.one_in(2)) damage_part(fuzz, merges, strange_lines());
    if (fuzz.one_in(2))
      fuzz.one_in(3) ? fuzz.damage(pieces) : damage_json(fuzz, pieces, {"<|endoftext|>", "a", "model"});
    put_file(reader.path().parent_path() / "merges.txt", merges);
    reader.read(pieces);
  });
}

TEST_CASE_FIXTURE(InDirectory, "vocabulary: deeply nested JSON and long separators are rejected") {
  const auto fails = [&](const std::string& content) {
    put_file(directory / "vocab", content);
    return error_of([&] { load_vocabulary(directory / "vocab"); });
  };
  const auto words = [](const std::string& options) {
    return R"({"format":"gyre-vocabulary","version":1,"kind":"words","options":)" + options +
           R"(,"parts":{"dictionary":4}})" + "\nlow\n";
  };
  CHECK(contains(fails(words(R"({"threshold":0,"more":)" + deep(1000000) + "}")), "nested too deeply"));
  CHECK(contains(fails(words(deep(1000000))), "nested too deeply"));
  const std::string separator(1000, '@');
  CHECK(contains(
      fails(VocabularyBundle{
          "subword-nmt", {{"separator", separator}, {"threshold", 0}}, {{"codes", kCodes}, {"dictionary", kDictionary}}}
                .serialize()),
      "expected options.separator"));
  put_file(directory / "tokenizer_config.json", R"({"do_lower_case":)" + deep(1000000) + "}");
  CHECK(contains(fails(kPieces), "nested too deeply"));
}
