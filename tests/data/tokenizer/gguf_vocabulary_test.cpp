// Vocabularies for llama.cpp. That it gives the same ids is checked with llama.cpp itself, by hand.
#include "gyre/data/tokenizer/gguf_vocabulary.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "gyre/core/io/json.h"
#include "gyre/data/tokenizer/byte_vocabulary.h"
#include "gyre/data/tokenizer/hugging_face/json_vocabulary.h"
#include "gyre/data/tokenizer/sentencepiece/sentencepiece_vocabulary.h"
#include "tests/errors.h"
#include "tests/source_dir.h"
#include "tests/temporary_directory.h"

using namespace gyre;

namespace {

constexpr const char* kRefused = "[gguf] llama.cpp has no such vocabulary: ";

template <class T>
T gguf_value(const GgufVocabulary& gguf, const std::string& name) {
  const auto found = std::ranges::find_if(gguf.keys, [&](const GgufKey& key) { return key.name == name; });
  REQUIRE_MESSAGE(found != gguf.keys.end(), name);
  return std::get<T>(found->value);
}

std::string gguf_text(const GgufVocabulary& gguf, const std::string& name) {
  return gguf_value<std::string>(gguf, "tokenizer.ggml." + name);
}

Json golden_tokenizer(const std::string& name) {
  return Json::parse(read_file(source_dir() / "tests/data/golden/byte_bpe" / (name + ".json")));
}

GgufVocabulary of_json(const Json& tokenizer, TokenizerSettings settings = {}) {
  return gguf_vocabulary(JsonVocabulary("tokenizer.json", tokenizer.dump(), std::move(settings)));
}

Json split_part(const char* regex) {
  return {{"type", "Split"}, {"pattern", {{"Regex", regex}}}, {"behavior", "Isolated"}, {"invert", false}};
}
Json byte_level_part(bool use_regex) {
  return {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", use_regex}};
}

// nlohmann's lists of two texts would be an object.
Json pairs(const std::vector<std::pair<std::string, std::string>>& merges) {
  Json list = Json::array();
  for (const auto& [left, right] : merges) list.push_back(Json::array({left, right}));
  return list;
}

// A tokenizer.json of a SentencePiece model, with bytes and the pieces of "aab".
Json character_tokenizer() {
  Json vocab{{"<unk>", 0}, {"<s>", 1}, {"</s>", 2}};
  for (int byte = 0; byte < 256; ++byte) {
    char name[8];
    std::snprintf(name, sizeof name, "<0x%02X>", unsigned(byte));
    vocab[name] = 3 + byte;
  }
  int id = 259;
  for (const char* piece : {"\u2581", "a", "b", "aa", "ab", "aab"}) vocab[piece] = id++;
  Json added = Json::array();
  for (const char* token : {"<unk>", "<s>", "</s>"})
    added.push_back({{"id", vocab[token]}, {"content", token}, {"special", true}});
  return {{"added_tokens", added},
          {"normalizer",
           {{"type", "Sequence"},
            {"normalizers",
             {{{"type", "Prepend"}, {"prepend", "\u2581"}},
              {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "\u2581"}}}}}},
          {"model",
           {{"type", "BPE"},
            {"unk_token", "<unk>"},
            {"fuse_unk", true},
            {"byte_fallback", true},
            {"vocab", vocab},
            {"merges", pairs({{"a", "a"}, {"a", "b"}, {"aa", "b"}, {"a", "ab"}})}}}};
}

}  // namespace

TEST_CASE("GGUF: byte-level BPE has pieces, merges and the name of its pre-tokenizer") {
  for (const auto& [golden, name] : {std::pair("gpt2", "gpt-2"), std::pair("llama3", "llama-bpe")}) {
    CAPTURE(golden);
    const Json json = golden_tokenizer(golden);
    const JsonVocabulary vocabulary("tokenizer.json", json.dump());
    const GgufVocabulary gguf = gguf_vocabulary(vocabulary);
    CHECK(gguf_text(gguf, "model") == "gpt2");
    CHECK(gguf_text(gguf, "pre") == name);
    const auto tokens = gguf_value<std::vector<std::string>>(gguf, "tokenizer.ggml.tokens");
    const auto types = gguf_value<std::vector<int32_t>>(gguf, "tokenizer.ggml.token_type");
    REQUIRE(tokens.size() == size_t(vocabulary.size()));
    for (int id = 0; id < vocabulary.size(); ++id) CHECK(tokens[size_t(id)] == vocabulary.piece(id));
    CHECK(types[size_t(vocabulary.eos())] == 3);
    CHECK(types.back() == 1);
    const auto merges = gguf_value<std::vector<std::string>>(gguf, "tokenizer.ggml.merges");
    CHECK(merges.size() == json["model"]["merges"].size());
    CHECK(merges[0].find(' ') != std::string::npos);
    CHECK(gguf_value<uint32_t>(gguf, "tokenizer.ggml.bos_token_id") == uint32_t(vocabulary.bos()));
    CHECK(gguf_value<uint32_t>(gguf, "tokenizer.ggml.eos_token_id") == uint32_t(vocabulary.eos()));
    CHECK(gguf_value<bool>(gguf, "tokenizer.ggml.add_bos_token") == !vocabulary.around_text().before.empty());
    CHECK(gguf.notes.empty());
  }
}

TEST_CASE("GGUF: pre-tokenizers by their regular expressions") {
  constexpr const char* kQwen2 =
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
  const Json llama = golden_tokenizer("llama3")["pre_tokenizer"]["pretokenizers"][0];
  const auto sequence = [](const std::vector<Json>& parts) {
    return Json{{"type", "Sequence"}, {"pretokenizers", parts}};
  };
  struct Row {
    Json pre_tokenizer;
    bool ignore_merges;
    std::string expected;  // the name; empty: refused
  };
  const Json digits{{"type", "Digits"}, {"individual_digits", true}}, runs{{"type", "Digits"}};
  const Json removed{{"type", "Split"}, {"pattern", {{"Regex", kQwen2}}}, {"behavior", "Removed"}, {"invert", true}};
  Json prefixed = byte_level_part(true);
  prefixed["add_prefix_space"] = true;
  for (const Row& row :
       {Row{byte_level_part(true), false, "gpt-2"}, Row{byte_level_part(true), true, ""},
        Row{sequence({digits, byte_level_part(true)}), false, "smollm"},
        Row{sequence({runs, byte_level_part(true)}), false, ""},
        Row{sequence({llama, byte_level_part(false)}), true, "llama-bpe"},
        Row{sequence({llama, byte_level_part(false)}), false, "smaug-bpe"},
        Row{sequence({split_part(kQwen2), byte_level_part(false)}), false, "qwen2"},
        Row{sequence({removed, byte_level_part(false)}), false, "qwen2"},
        Row{sequence({split_part("a+"), byte_level_part(false)}), false, ""}, Row{prefixed, false, ""}}) {
    CAPTURE(row.pre_tokenizer.dump());
    Json tokenizer = golden_tokenizer("gpt2");
    tokenizer["pre_tokenizer"] = row.pre_tokenizer;
    tokenizer["model"]["ignore_merges"] = row.ignore_merges;
    if (!row.expected.empty()) {
      CHECK(gguf_text(of_json(tokenizer), "pre") == row.expected);
      continue;
    }
    const std::string error = error_of([&] { of_json(tokenizer); });
    CHECK(error.starts_with(
        concat(kRefused, "pre_tokenizer: expected that of GPT-2, SmolLM, Llama 3, Qwen2 or Tekken, got {")));
  }
}

TEST_CASE("GGUF: add_prefix_space of tokenizer_config.json counts, as it does for the ids") {
  Json gpt2 = golden_tokenizer("gpt2");
  for (const bool of_file : {false, true}) {
    gpt2["pre_tokenizer"] = byte_level_part(true);
    gpt2["pre_tokenizer"]["add_prefix_space"] = of_file;
    const auto name = [&](bool setting) {
      const Json config{{"tokenizer_class", "GPT2Tokenizer"}, {"add_prefix_space", setting}};
      return gguf_text(of_json(gpt2, {.config = config}), "pre");
    };
    CHECK(name(false) == "gpt-2");
    CHECK(contains(error_of([&] { name(true); }), concat(kRefused, "pre_tokenizer: expected that of GPT-2")));
  }
}

TEST_CASE("GGUF: added tokens, ids without a piece, and the ids around a text") {
  Json tokenizer = golden_tokenizer("gpt2");
  const int pieces = int(tokenizer["model"]["vocab"].size());
  tokenizer["normalizer"] = {{"type", "NFC"}};
  tokenizer["post_processor"] = nullptr;
  tokenizer["added_tokens"].push_back(
      {{"id", pieces}, {"content", "<sep>"}, {"special", false}, {"lstrip", true}, {"normalized", false}});
  const GgufVocabulary gguf = of_json(tokenizer, {.size = pieces + 3});
  const auto tokens = gguf_value<std::vector<std::string>>(gguf, "tokenizer.ggml.tokens");
  const auto types = gguf_value<std::vector<int32_t>>(gguf, "tokenizer.ggml.token_type");
  REQUIRE(tokens.size() == size_t(pieces) + 3);
  CHECK(tokens[size_t(pieces)] == "<sep>");
  CHECK(types[size_t(pieces)] == 4);
  CHECK(tokens.back() == concat("[PAD", pieces + 2, "]"));
  CHECK(types.back() == 5);
  CHECK(!gguf_value<bool>(gguf, "tokenizer.ggml.add_bos_token"));
  CHECK(gguf.notes == std::vector<std::string>{
                          "llama.cpp does not normalize texts to NFC: letters with combining accents get other ids",
                          "llama.cpp ignores lstrip, rstrip and single_word of added tokens"});

  tokenizer["normalizer"] = {{"type", "Lowercase"}};
  CHECK(error_of([&] { of_json(tokenizer); }) ==
        concat(kRefused, "normalizer: expected null or NFC, got {\"type\":\"Lowercase\"}"));
  tokenizer["normalizer"] = nullptr;
  tokenizer["post_processor"] = {{"type", "BertProcessing"}, {"sep", {"<sep>", pieces}}, {"cls", {"<sep>", pieces}}};
  CHECK(error_of([&] { of_json(tokenizer, {.eos = "<|endoftext|>"}); }) ==
        concat(kRefused, "tokens after a text: expected the eos_token or none, got 1 others"));
}

TEST_CASE_FIXTURE(InDirectory, "GGUF: SentencePiece has scores, types and rules") {
  std::string text;
  for (int i = 0; i < 40; ++i) text += concat("the cat sat on the mat ", i, "\nthe dog <sep> sat on the log\n");
  put_file(directory / "text", text);
  for (const auto& [type, model] : {std::pair("unigram", "t5"), std::pair("bpe", "llama")}) {
    CAPTURE(type);
    train_sentencepiece(std::vector<Path>{directory / "text"}, {.type = type, .size = 30, .user_symbols = {"<sep>"}},
                        directory / "model");
    const auto loaded = load_vocabulary(directory / "model");
    const auto& vocabulary = dynamic_cast<const SentencePieceVocabulary&>(*loaded);
    const GgufVocabulary gguf = gguf_vocabulary(vocabulary);
    CHECK(gguf_text(gguf, "model") == model);
    const auto tokens = gguf_value<std::vector<std::string>>(gguf, "tokenizer.ggml.tokens");
    const auto scores = gguf_value<std::vector<float>>(gguf, "tokenizer.ggml.scores");
    const auto types = gguf_value<std::vector<int32_t>>(gguf, "tokenizer.ggml.token_type");
    const bool is_bpe = std::string_view(type) == "bpe";
    CHECK(std::vector<int32_t>(types.begin(), types.begin() + 3) == std::vector<int32_t>{2, 3, 3});
    REQUIRE(tokens[3] == "<sep>");
    CHECK(types[3] == (is_bpe ? 4 : 1));
    CHECK(scores[3] == 0);
    for (int id = 4; id < vocabulary.size(); ++id) CHECK(scores[size_t(id)] == vocabulary.score(id));
    CHECK(gguf_value<bool>(gguf, "tokenizer.ggml.add_space_prefix"));
    CHECK(gguf_value<bool>(gguf, "tokenizer.ggml.remove_extra_whitespaces"));
    CHECK(gguf_value<std::vector<uint8_t>>(gguf, "tokenizer.ggml.precompiled_charsmap").size() > 1000);
    CHECK(gguf_value<bool>(gguf, "tokenizer.ggml.add_bos_token"));
    CHECK(gguf.notes.size() == (is_bpe ? 3 : 0));
  }
  train_sentencepiece(
      std::vector<Path>{directory / "text"},
      {.type = "bpe", .size = 290, .normalization = "identity", .byte_fallback = true, .keep_whitespace = true},
      directory / "model");
  const GgufVocabulary gguf = gguf_vocabulary(*load_vocabulary(directory / "model"));
  CHECK(std::ranges::count(gguf_value<std::vector<int32_t>>(gguf, "tokenizer.ggml.token_type"), 6) == 256);
  CHECK(!gguf_value<bool>(gguf, "tokenizer.ggml.add_space_prefix"));
  CHECK(gguf.notes.empty());
}

TEST_CASE("GGUF: BPE on characters has the ranks of its merges as scores") {
  const GgufVocabulary gguf = of_json(character_tokenizer());
  CHECK(gguf_text(gguf, "model") == "llama");
  CHECK(gguf_value<bool>(gguf, "tokenizer.ggml.add_space_prefix"));
  const auto scores = gguf_value<std::vector<float>>(gguf, "tokenizer.ggml.scores");
  CHECK(std::vector<float>(scores.end() - 4, scores.end()) == std::vector<float>{0, 0, -1, -2});
  const auto types = gguf_value<std::vector<int32_t>>(gguf, "tokenizer.ggml.token_type");
  CHECK(std::vector<int32_t>(types.begin(), types.begin() + 4) == std::vector<int32_t>{2, 3, 3, 6});

  Json incomplete = character_tokenizer();
  incomplete["model"]["merges"].erase(3);
  CHECK(error_of([&] { of_json(incomplete); }) ==
        concat(kRefused,
               "merges: expected one for any two pieces that are a piece together, got none for \"aab\" after 1 "
               "bytes"));
  Json mixed = character_tokenizer();
  mixed["model"]["merges"] = pairs({{"a", "a"}, {"aa", "b"}, {"a", "b"}, {"a", "ab"}});
  CHECK(contains(error_of([&] { of_json(mixed); }), "merges: expected those of a piece together"));
  Json words = character_tokenizer();
  words["normalizer"] = nullptr;
  words["pre_tokenizer"] = {
      {"type", "Metaspace"}, {"replacement", "\u2581"}, {"prepend_scheme", "never"}, {"split", false}};
  CHECK(!gguf_value<bool>(of_json(words), "tokenizer.ggml.add_space_prefix"));
  words["pre_tokenizer"]["split"] = true;
  CHECK(contains(error_of([&] { of_json(words); }), "pre_tokenizer: expected that of a SentencePiece model"));
}

TEST_CASE("GGUF: other vocabularies are errors") {
  CHECK(error_of([] { gguf_vocabulary(ByteVocabulary()); }) ==
        concat(kRefused, "kind: expected byte-level BPE, or unigram or BPE of SentencePiece, got bytes"));
}
