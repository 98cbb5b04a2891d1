// Compares byte-level BPE with Hugging Face's package tokenizers (golden/make_byte_bpe.py).
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "gyre/data/tokenizer/byte_bpe/byte_bpe_vocabulary.h"
#include "gyre/data/tokenizer/continuation.h"
#include "tests/data/text_files.h"

using namespace gyre;
using Ids = std::vector<int32_t>;
using Json = nlohmann::json;

namespace {

Path tokenizer_file(const std::string& name) { return golden("byte_bpe/" + name + ".json"); }

Json expected_byte_bpe() { return Json::parse(read_file(tokenizer_file("golden"))); }

// The message after a change of the tokenizer.json of GPT-2's kind.
template <class Change>
std::string error_after(const Change& change) {
  static const Json original = Json::parse(read_file(tokenizer_file("gpt2")));
  Json json = original;
  change(json);
  return error_of([&] { ByteBpeVocabulary("tokenizer.json", json.dump()); });
}

std::string error_with(const char* place, const Json& value) {
  return error_after([&](Json& json) { json[Json::json_pointer(place)] = value; });
}

}  // namespace

TEST_CASE("byte-level BPE: ids and decoded text equal those of Hugging Face's tokenizers") {
  const Json expected = expected_byte_bpe();
  for (const char* name : {"gpt2", "llama3", "other"}) {
    const auto vocabulary = load_vocabulary(tokenizer_file(name));
    CHECK(vocabulary->kind() == "byte-bpe");
    for (size_t i = 0; i < expected["lines"].size(); ++i) {
      const auto line = expected["lines"][i].get<std::string>();
      CAPTURE(name);
      CAPTURE(line);
      const auto ids = expected[name]["ids"][i].get<Ids>();
      CHECK(vocabulary->encode(line) == ids);
      const bool has_end = std::find(ids.begin(), ids.end(), vocabulary->eos()) != ids.end() ||
                           std::find(ids.begin(), ids.end(), vocabulary->bos()) != ids.end();
      if (!has_end) CHECK(vocabulary->decode(ids) == expected[name]["decoded"][i].get<std::string>());
    }
  }
}

TEST_CASE("byte-level BPE: tokens that begin and end a text") {
  const auto gpt2 = load_vocabulary(tokenizer_file("gpt2"));
  CHECK(gpt2->piece(gpt2->bos()) == "<|endoftext|>");
  CHECK(gpt2->bos() == gpt2->eos());
  CHECK((gpt2->unk() == -1 && gpt2->pad() == -1));
  const auto llama3 = load_vocabulary(tokenizer_file("llama3"));
  CHECK(llama3->piece(llama3->bos()) == "<|begin_of_text|>");
  CHECK(llama3->piece(llama3->eos()) == "<|end_of_text|>");
  CHECK(llama3->decode(Ids{llama3->bos(), llama3->eos()}) == "");
}

TEST_CASE("byte-level BPE: any bytes are restored") {
  for (const char* name : {"gpt2", "llama3"}) {
    const auto vocabulary = load_vocabulary(tokenizer_file(name));
    CHECK(vocabulary->accepts_any_bytes());
    std::string bytes = "the \xff\xfe\xc3 \xed\xa0\x80 \xf0\x9f\x98 then\xe4\xb8";
    for (int byte = 0; byte < 256; ++byte) bytes += char(byte);
    CHECK(vocabulary->decode(vocabulary->encode(bytes)) == bytes);
  }
  CHECK(!load_vocabulary(tokenizer_file("other"))->accepts_any_bytes());  // NFC and a prefix
}

TEST_CASE("byte-level BPE: a stream of tokens never ends inside a character") {
  const auto vocabulary = load_vocabulary(tokenizer_file("gpt2"));
  const std::vector<std::string> stops;
  const std::string text = "the 𠀀 then \u00e9";
  const Ids ids = vocabulary->encode(text);
  Continuation continuation(*vocabulary, {}, stops);
  for (size_t n = 0; n <= ids.size(); ++n) {
    continuation.set(std::span(ids).first(n));
    const std::string settled = continuation.text().substr(0, continuation.settled());
    CHECK(text.starts_with(settled));
    CHECK((settled.size() == text.size() || (uint8_t(text[settled.size()]) & 0xC0) != 0x80));
  }
}

TEST_CASE("byte-level BPE: tokenizer_config.json names tokens, and a saved copy keeps them") {
  const TemporaryDirectory directory, elsewhere;
  const Path file = write_text(directory, "tokenizer.json", read_file(tokenizer_file("llama3")));
  const auto plain = load_vocabulary(file);
  CHECK(plain->content() == read_file(file));
  write_text(directory, "tokenizer_config.json",
             R"({"bos_token":null,"eos_token":{"content":"<|begin_of_text|>","special":true}})");
  const auto changed = load_vocabulary(file);
  CHECK(changed->eos() == plain->bos());
  CHECK(changed->fingerprint() != plain->fingerprint());
  changed->save(elsewhere / "vocab.json");
  const auto copy = load_vocabulary(elsewhere / "vocab.json");
  CHECK((copy->eos() == changed->eos() && copy->fingerprint() == changed->fingerprint()));
  const ByteBpeVocabulary larger("tokenizer.json", read_file(file), {.size = plain->size() + 5});
  CHECK(larger.size() == plain->size() + 5);
  CHECK(larger.piece(plain->size()) == "");
  for (const std::string line : {"the man in the hat", " \u4e2d x"}) CHECK(larger.encode(line) == plain->encode(line));
  write_text(directory, "tokenizer_config.json", R"({"eos_token":"<none>"})");
  CHECK(
      contains(error_of([&] { load_vocabulary(file); }), "tokenizer.json: expected \"<none>\", which begins or ends"));
}

TEST_CASE("byte-level BPE: what Gyre does not support is an error that names the field") {
  CHECK(error_with("/model/type", "WordPiece") ==
        "[vocabulary] tokenizer.json: model.type: expected BPE, got \"WordPiece\"");
  CHECK(contains(error_with("/model/dropout", 0.1), "model.dropout: expected null, got 0.1"));
  CHECK(contains(error_with("/model/byte_fallback", true), "model.byte_fallback: expected false"));
  CHECK(contains(error_with("/model/end_of_word_suffix", "</w>"), "model.end_of_word_suffix: expected null"));
  CHECK(contains(error_with("/model/ignore_merges", 1), "model.ignore_merges: expected true or false, got 1"));
  CHECK(contains(error_with("/model/vocab/a", 5000), "model.vocab.a: expected a unique id below"));
  CHECK(contains(error_with("/model/merges/0", Json{"a", "zzzz"}), "model.merges: expected pieces of model.vocab"));
  CHECK(contains(error_with("/model/merges/0", "ab"), "model.merges: expected two pieces with a space between them"));
  CHECK(contains(error_with("/normalizer", {{"type", "NFKC"}}), "normalizer.type: expected NFC or no normalizer"));
  CHECK(contains(error_with("/pre_tokenizer", nullptr), "pre_tokenizer: expected Split, Digits and finally ByteLevel"));
  CHECK(contains(error_with("/pre_tokenizer", {{"type", "Metaspace"}}), "pre_tokenizer.type: expected Split"));
  const Json split{{"type", "Split"}, {"pattern", {{"Regex", "(a"}}}, {"behavior", "Isolated"}, {"invert", false}};
  const auto sequence = [](const Json& part) {
    return Json{{"type", "Sequence"}, {"pretokenizers", Json::array({part, {{"type", "ByteLevel"}}})}};
  };
  CHECK(contains(error_with("/pre_tokenizer", sequence(split)), "expected a regular expression that ICU can read"));
  Json removed = split;
  removed["behavior"] = "Removed";
  CHECK(contains(error_with("/pre_tokenizer", sequence(removed)), "pretokenizers[0].behavior: expected Isolated"));
  CHECK(
      contains(error_with("/post_processor", {{"type", "BertProcessing"}}), "post_processor.type: expected ByteLevel"));
  CHECK(contains(error_with("/decoder", {{"type", "Fuse"}}), "decoder.type: expected ByteLevel"));
  CHECK(contains(error_with("/added_tokens/0/single_word", true), "added_tokens[0].single_word: expected false"));
  CHECK(contains(error_with("/added_tokens/0/id", 7), "added_tokens: expected an id of 0 for"));
  CHECK(contains(error_after([](Json& json) {
                   json["model"]["vocab"].erase("a");
                   json["model"]["merges"] = Json::array();
                 }),
                 "expected a unique id below"));
  CHECK(contains(error_with("/added_tokens/0/special", false), "expected a special token <|endoftext|>"));
}
