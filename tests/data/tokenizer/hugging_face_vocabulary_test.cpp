// Compares the tokenizers of a tokenizer.json with Hugging Face's package tokenizers (golden/make_byte_bpe.py and
// golden/make_tokenizers.py), and those of whole directories with transformers (golden/make_tokenizer_directories.py).
#include "gyre/data/tokenizer/hugging_face_vocabulary.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "gyre/core/io/json.h"
#include "gyre/data/tokenizer/byte_bpe/byte_bpe_training.h"
#include "gyre/data/tokenizer/continuation.h"
#include "gyre/data/tokenizer/vocabulary.h"
#include "tests/data/text_files.h"
#include "tests/threads_in_scope.h"

using namespace gyre;
using Ids = std::vector<int32_t>;

namespace {

Path tokenizer_file(const std::string& name) { return golden("byte_bpe/" + name + ".json"); }

IndexedJson expected_byte_bpe() { return IndexedJson::parse(read_file(tokenizer_file("golden"))); }

// The message after a change of the tokenizer.json of GPT-2's kind.
template <class Change>
std::string error_after(const Change& change) {
  static const IndexedJson original = IndexedJson::parse(read_file(tokenizer_file("gpt2")));
  IndexedJson json = original;
  change(json);
  return error_of([&] { JsonVocabulary("tokenizer.json", json.dump()); });
}

std::string error_with(const char* place, const IndexedJson& value) {
  return error_after([&](IndexedJson& json) { json[IndexedJson::json_pointer(place)] = value; });
}

}  // namespace

TEST_CASE("byte-level BPE: ids and decoded text equal those of Hugging Face's tokenizers") {
  const IndexedJson expected = expected_byte_bpe();
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
  TokenizerSettings five_more;
  five_more.size = plain->size() + 5;
  const JsonVocabulary larger("tokenizer.json", read_file(file), five_more);
  CHECK(larger.size() == plain->size() + 5);
  CHECK(larger.piece(plain->size()) == "");
  for (const std::string line : {"the man in the hat", " \u4e2d x"}) CHECK(larger.encode(line) == plain->encode(line));
  write_text(directory, "tokenizer_config.json", R"({"eos_token":"<none>"})");
  CHECK(load_vocabulary(file)->eos() == plain->size());  // a new piece, as in transformers
}

TEST_CASE("tokenizer.json: ids and decoded text equal those of Hugging Face's tokenizers, whatever its parts are") {
  const IndexedJson golden_json = IndexedJson::parse(read_file(golden("tokenizers.json")));
  const auto lines = golden_json["lines"].get<std::vector<std::string>>();
  for (const IndexedJson& each : golden_json["tokenizers"]) {
    const auto name = each["name"].get<std::string>();
    CAPTURE(name);
    const JsonVocabulary vocabulary("tokenizer.json", each["tokenizer"].dump());
    for (size_t i = 0; i < lines.size(); ++i) {
      CAPTURE(lines[i]);
      const auto ids = each["ids"][i].get<Ids>();
      CHECK(vocabulary.encode(lines[i]) == ids);
      const bool has_end = vocabulary.has_ends() && std::any_of(ids.begin(), ids.end(), [&](int32_t id) {
                             return id == vocabulary.bos() || id == vocabulary.eos() || id == vocabulary.pad();
                           });
      const auto decoded = each["decoded"][i].get<std::string>();
      // tokenizers replaces bytes that are not UTF-8, and adds no space where a token is left out.
      if (!has_end && decoded.find("\uFFFD") == std::string::npos) CHECK(vocabulary.decode(ids) == decoded);
    }
    Ids around = vocabulary.around_text().before;
    const Ids after = vocabulary.around_text().after;
    around.insert(around.end(), after.begin(), after.end());
    CHECK(around == each["around"].get<Ids>());
  }
}

TEST_CASE("tokenizer.json: what Gyre does not support or know is an error that names the field") {
  CHECK(error_with("/model/type", "Unigram") ==
        "[vocabulary] tokenizer.json: model.type: expected BPE, WordPiece or WordLevel, got \"Unigram\"");
  CHECK(contains(error_with("/model/dropout", 0.1), "model.dropout: expected null, got 0.1"));
  CHECK(contains(error_with("/model/ignore_merges", 1), "model.ignore_merges: expected true or false, got 1"));
  CHECK(contains(error_with("/model/new", 1), "model.new: expected no such field"));
  CHECK(contains(error_with("/new", "x"), "tokenizer.json: new: expected no such field"));
  CHECK_NOTHROW(
      JsonVocabulary("tokenizer.json", R"({"new":null,"model":{"type":"WordLevel","unk_token":"a","vocab":{"a":0}}})"));
  CHECK(contains(error_with("/model/vocab/a", 5000), "model.vocab.a: expected a unique id below"));
  CHECK(contains(error_with("/model/merges/0", IndexedJson{"a", "zzzz"}),
                 "model.merges: expected pieces of model.vocab"));
  CHECK(contains(error_with("/model/merges/0", "ab"), "model.merges: expected two pieces with a space between them"));
  CHECK(contains(error_with("/normalizer", {{"type", "Precompiled"}}), "normalizer.type: expected BertNormalizer"));
  CHECK(contains(error_with("/normalizer", {{"type", "NFC"}, {"form", "D"}}), "normalizer.form: expected no such"));
  CHECK(contains(error_with("/pre_tokenizer", {{"type", "UnicodeScripts"}}), "pre_tokenizer.type: expected Bert"));
  const auto sequence = [](const IndexedJson& part) {
    return IndexedJson{{"type", "Sequence"}, {"pretokenizers", IndexedJson::array({part, {{"type", "ByteLevel"}}})}};
  };
  const auto split = [&](const std::string& regex, const char* behavior = "Isolated") {
    return sequence({{"type", "Split"}, {"pattern", {{"Regex", regex}}}, {"behavior", behavior}, {"invert", false}});
  };
  CHECK(contains(error_with("/pre_tokenizer", split("(a")), "expected a regular expression that ICU can read"));
  for (const char* regex :
       {R"(\bthe)",       R"(\h+)",         R"((?m).)",   R"((?s:.))",         R"(\R)",        R"(\p{Alpha})",
        R"([\p{Punct}])", R"(\p{^L})",      R"(\pL)",     R"(\p{Script=Han})", R"(\X)",        R"(\1)",
        R"(\x80)",        R"([[:alpha:]])", R"([a--b])",  R"([]a])",           R"(a(?i)b)",    R"((?<name>a))",
        R"((?~a))",       R"((?#a))",       R"((?i:ß))",  R"((?i:[a-z]))",     R"((?i:mass))", R"((?i:Fi))",
        R"((?i)\w)",      R"(a{2}?)",       R"(a{1,2}+)", R"(a{,2})"}) {
    CAPTURE(regex);
    CHECK(contains(error_with("/pre_tokenizer", split(regex)), "which ICU may read differently"));
  }
  for (const char* regex :
       {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s+(?!\S))",
        R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{M}]+(?i:'s|'t)?)", R"([\p{L}&&[^\p{Han}]]+)",
        R"((?i)it|(?:a)(?=b)(?<!c)(?>d))", R"([\x20-\x7e\x{4e00}\u9fa5\-]+)"}) {
    CAPTURE(regex);
    CHECK(!contains(error_with("/pre_tokenizer", split(regex)), "regular expression"));
  }
  CHECK(contains(error_with("/pre_tokenizer", split("a", "Dropped")), "pretokenizers[0].behavior: expected Removed"));
  CHECK(contains(error_with("/post_processor", {{"type", "Other"}}), "post_processor.type: expected ByteLevel"));
  CHECK(contains(error_with("/decoder", {{"type", "CTC"}}), "decoder.type: expected BPEDecoder"));
  CHECK(contains(error_with("/added_tokens/0/id", 7), "added_tokens[0].id: expected 0 for"));
  CHECK(contains(error_with("/added_tokens/0/other", 7), "added_tokens[0].other: expected no such field"));
  CHECK(
      contains(error_with("/post_processor/special_tokens/<|endoftext|>/ids/0", 7), "post_processor: expected the id"));
  CHECK(contains(error_after([](IndexedJson& json) {
                   json["model"]["unk_token"] = "<none>";
                   json["model"]["vocab"].erase("a");
                   json["model"]["merges"] = IndexedJson::array();
                 }),
                 "model.unk_token: expected a piece of model.vocab"));
}

TEST_CASE("tokenizer.json: a byte that is only an added token has no piece") {
  IndexedJson json = IndexedJson::parse(read_file(tokenizer_file("gpt2")));
  const int id = json["model"]["vocab"]["~"];
  json["model"]["vocab"].erase("~");
  json["model"]["merges"] = IndexedJson::array();
  IndexedJson vocab = IndexedJson::object();
  for (const auto& [piece, old] : json["model"]["vocab"].items()) vocab[piece] = old.get<int>() - (old > id ? 1 : 0);
  json["model"]["vocab"] = vocab;
  json["added_tokens"].push_back({{"id", vocab.size()}, {"content", "~"}, {"special", false}, {"normalized", true}});
  const JsonVocabulary vocabulary("tokenizer.json", json.dump());
  CHECK(vocabulary.encode("~") == Ids{int32_t(vocab.size())});
  CHECK(contains(vocabulary.note(), "no pieces for 1 byte that texts can contain (<0x7E>): they are left out"));
}

TEST_CASE("tokenizer.json: without a token that ends a text, it encodes, and eos() says what is missing") {
  IndexedJson json = IndexedJson::parse(read_file(tokenizer_file("gpt2")));
  const auto rename = [&](const std::string& to) {
    IndexedJson changed = json;
    changed["added_tokens"][0]["content"] = to;
    changed["model"]["vocab"].erase("<|endoftext|>");
    changed["model"]["vocab"][to] = 0;
    changed["post_processor"] = nullptr;
    return JsonVocabulary("tokenizer.json", changed.dump());
  };
  const JsonVocabulary nameless = rename("<other>");
  CHECK(nameless.encode("the").size() > 0);
  CHECK(!nameless.has_ends());
  CHECK(contains(error_of([&] { (void)nameless.eos(); }), R"({"eos_token": "<|endoftext|>"})"));
  for (const char* name : {"[EOS]", "<eos>", "<EOT>", "<|bos|>"}) CHECK(rename(name).eos() == 0);
}

TEST_CASE_FIXTURE(InDirectory, "tokenizer.json: the files beside it decide on the tokens around a text") {
  const Path file = write_text(directory, "tokenizer.json", read_file(tokenizer_file("llama3")));
  struct Case {
    const char *config, *specials;
    Ids before, after;
    int32_t bos, eos;
  };
  // In llama3.json, <|begin_of_text|> is 0 and <|end_of_text|> is 1.
  const Case cases[] = {
      {R"({})", nullptr, {0}, {}, 0, 1},
      {R"({"add_bos_token":false})", nullptr, {}, {}, 0, 1},
      {R"({"add_bos_token":true,"add_eos_token":true})", nullptr, {0}, {1}, 0, 1},
      {R"({"eos_token":"<|begin_of_text|>"})", R"({"eos_token":"<|end_of_text|>"})", {0}, {}, 0, 1},
      {R"({"eos_token":"<|begin_of_text|>","added_tokens_decoder":{}})",
       R"({"eos_token":"<|end_of_text|>"})",
       {0},
       {},
       0,
       0},
  };
  for (const Case& c : cases) {
    CAPTURE(c.config);
    write_text(directory, "tokenizer_config.json", c.config);
    std::filesystem::remove(directory / "special_tokens_map.json");
    if (c.specials != nullptr) write_text(directory, "special_tokens_map.json", c.specials);
    const auto vocabulary = load_vocabulary(file);
    CHECK(vocabulary->around_text().before == c.before);
    CHECK(vocabulary->around_text().after == c.after);
    CHECK((vocabulary->bos() == c.bos && vocabulary->eos() == c.eos));
    vocabulary->save(directory / "copy");
    const auto copy = load_vocabulary(directory / "copy");
    CHECK(copy->around_text().before == c.before);
    CHECK(copy->fingerprint() == vocabulary->fingerprint());
  }
  // The files of Qwen3-Embedding: a text ends with a token of the template, and add_bos_token is false.
  Json ends_with_token = Json::parse(read_file(file));
  ends_with_token["post_processor"] = Json::parse(
      R"({"type":"TemplateProcessing","single":[{"Sequence":{"id":"A","type_id":0}},
          {"SpecialToken":{"id":"<|end_of_text|>","type_id":0}}],"pair":[{"Sequence":{"id":"A","type_id":0}},
          {"SpecialToken":{"id":"<|end_of_text|>","type_id":0}},{"Sequence":{"id":"B","type_id":1}},
          {"SpecialToken":{"id":"<|end_of_text|>","type_id":1}}],
          "special_tokens":{"<|end_of_text|>":{"id":"<|end_of_text|>","ids":[1],"tokens":["<|end_of_text|>"]}}})");
  write_text(directory, "tokenizer.json", ends_with_token.dump());
  write_text(directory, "tokenizer_config.json", R"({"add_bos_token":false,"eos_token":"<|end_of_text|>"})");
  CHECK(load_vocabulary(file)->around_text().before.empty());
  CHECK(load_vocabulary(file)->around_text().after == Ids{1});
}

TEST_CASE("directories with a tokenizer: ids equal those of transformers, or an error says why not") {
  const IndexedJson golden_json = IndexedJson::parse(read_file(golden("tokenizer_directories.json")));
  const auto lines = golden_json["lines"].get<std::vector<std::string>>();
  for (const IndexedJson& each : golden_json["cases"]) {
    const TemporaryDirectory directory;
    const auto name = each["file"].get<std::string>();
    const auto content = golden_json["bases"][each["base"].get<std::string>()].get<std::string>();
    CAPTURE(name);
    CAPTURE(each["base"].dump());
    CAPTURE(each["files"].dump());
    const Path file = write_text(directory, name, content);
    if (name == "vocab.json") write_text(directory, "merges.txt", golden_json["bases"]["merges"].get<std::string>());
    for (const auto& [other, json] : each["files"].items()) write_text(directory, other, json.dump());
    if (!each.contains("ids")) {
      CHECK(contains(error_of([&] { load_vocabulary(file); }), "[vocabulary] " + file.string() + ": "));
      continue;
    }
    const auto vocabulary = load_vocabulary(file);
    const TemporaryDirectory exported, elsewhere;
    vocabulary->save(elsewhere / "copy");
    CHECK(write_hugging_face_vocabulary(exported.path(), *vocabulary, 0));
    const bool has_json = std::filesystem::exists(exported / "tokenizer.json");
    const auto copy = load_vocabulary(elsewhere / "copy"),
               again = load_vocabulary(exported / (has_json ? "tokenizer.json" : "vocab.txt"));
    for (size_t i = 0; i < lines.size(); ++i) {
      CAPTURE(lines[i]);
      const auto ids = each["ids"][i].get<Ids>();
      CHECK(vocabulary->encode(lines[i]) == ids);
      CHECK(copy->encode(lines[i]) == ids);
      CHECK(again->encode(lines[i]) == ids);
    }
  }
}

TEST_CASE_FIXTURE(InDirectory,
                  "a tokenizer.json beside another class than its own: a note says what transformers replaces") {
  const IndexedJson golden_json = IndexedJson::parse(read_file(golden("tokenizer_directories.json")));
  const auto note_with = [&](const char* base, const char* pre_tokenizer, const char* config) {
    IndexedJson json = IndexedJson::parse(golden_json["bases"][base].get<std::string>());
    if (pre_tokenizer != nullptr) json["pre_tokenizer"] = IndexedJson::parse(pre_tokenizer);
    write_text(directory, "tokenizer_config.json", config);
    return load_vocabulary(write_text(directory, "tokenizer.json", json.dump()))->note();
  };
  constexpr const char* kDigits = R"({"type":"Sequence","pretokenizers":[{"type":"Digits","individual_digits":true},
    {"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true}]})";
  CHECK(note_with("bpe.json", nullptr, R"({"tokenizer_class":"GPT2Tokenizer"})") == "");
  CHECK(note_with("bpe.json", kDigits, R"({"tokenizer_class":"PreTrainedTokenizerFast"})") == "");
  CHECK(
      contains(note_with("bpe.json", kDigits, R"({"tokenizer_class":"GPT2Tokenizer"})"), "replaces the pre-tokenizer"));
  CHECK(contains(note_with("bpe.json", nullptr, R"({"tokenizer_class":"Qwen2Tokenizer"})"), "replaces the normalizer"));
  CHECK(contains(note_with("bpe.json", nullptr, R"({"tokenizer_class":"GemmaTokenizer"})"), "may replace"));
  write_text(directory, "config.json", R"({"model_type":"bert"})");
  CHECK(note_with("words.json", nullptr, "{}") == "");
  CHECK(contains(note_with("cased.json", nullptr, "{}"), "takes BertTokenizer in lower case for the model type bert"));
}

TEST_CASE("a tokenizer.json beside a class and a model type: a note says where the class of transformers differs") {
  struct Case {
    const char *tokenizer_class, *model_type;  // nullptr: there is none
    bool in_file;                              // add_prefix_space
    const char* note;                          // a part of it; "" for none
  };
  constexpr const char *kAdds =
                           "adds a space before a text, as tokenizer.json says, and its ids differ; Gyre adds none",
                       *kQwen2 = "replaces the normalizer of the file by that of the class of the model type qwen2",
                       *kMay = "may replace the normalizer or the pre-tokenizer of the file";
  const Case cases[] = {
      {"PreTrainedTokenizerFast", "llama", true, ""},
      {"PreTrainedTokenizerFast", "qwen2", false, kQwen2},
      {"PreTrainedTokenizer", "qwen2", false, kQwen2},
      {"TokenizersBackend", "qwen2", false, kQwen2},
      {"LlamaTokenizerFast", "qwen2", false, kQwen2},
      {"BloomTokenizerFast", "qwen2", false, kQwen2},
      {"GPT2Tokenizer", "qwen2", false, kQwen2},
      {"PreTrainedTokenizerFast", "qwen3", true, ""},
      {"PreTrainedTokenizerFast", "qwen3_5", true, kMay},
      {"GPT2Tokenizer", "llama", true, ""},
      {"GPT2Tokenizer", "llama", false, ""},
      {"GPT2Tokenizer", "phi", false, ""},
      {"GPT2Tokenizer", "granite", false, ""},
      {"GPT2Tokenizer", "granite", true, kAdds},
      {"GPT2TokenizerFast", "granite", true, kAdds},
      {"GPT2Tokenizer", "stablelm", true, kAdds},
      {"GPT2Tokenizer", "mistral", true, kAdds},
      {"GPT2Tokenizer", "phi3", true, kAdds},
      {"RobertaTokenizer", "granite", true, kAdds},
      {"RobertaTokenizer", "granite", false,
       "finds other added tokens in a text, those of the class of the model type"},
      {"GemmaTokenizer", "granite", true, ""},
      {"GemmaTokenizer", "gemma", true, kMay},
      {"LlamaTokenizer", "mistral", true, ""},
      {nullptr, "whisper", true, kMay},
      {nullptr, "granite", true, ""},
      {nullptr, "roberta", false, "finds other added tokens in a text"},
      {nullptr, "gpt2", false, ""},
  };
  for (const Case& c : cases) {
    CAPTURE(c.tokenizer_class);
    CAPTURE(c.model_type);
    CAPTURE(c.in_file);
    const TemporaryDirectory directory;
    IndexedJson json = IndexedJson::parse(read_file(tokenizer_file("gpt2")));
    json["pre_tokenizer"]["add_prefix_space"] = c.in_file;
    if (c.tokenizer_class != nullptr)
      write_text(directory, "tokenizer_config.json", IndexedJson{{"tokenizer_class", c.tokenizer_class}}.dump());
    write_text(directory, "config.json", IndexedJson{{"model_type", c.model_type}}.dump());
    const std::string note = load_vocabulary(write_text(directory, "tokenizer.json", json.dump()))->note();
    CAPTURE(note);
    CHECK((std::string_view(c.note).empty() ? note.empty() : contains(note, c.note)));
  }
}

TEST_CASE("a tokenizer.json beside added tokens: a note says which transformers does not find") {
  const auto note_with = [](const char* config, const char* flag) {
    const TemporaryDirectory directory;
    IndexedJson json = IndexedJson::parse(read_file(tokenizer_file("gpt2")));
    if (flag != nullptr) json["added_tokens"][0][flag] = true;
    write_text(directory, "tokenizer_config.json", config);
    return load_vocabulary(write_text(directory, "tokenizer.json", json.dump()))->note();
  };
  CHECK(note_with(R"({"tokenizer_class":"GPT2Tokenizer"})", "lstrip") == "");
  CHECK(note_with(R"({"tokenizer_class":"PreTrainedTokenizerFast","added_tokens_decoder":{}})", nullptr) == "");
  CHECK(contains(note_with(R"({"tokenizer_class":"GPT2Tokenizer","bos_token":null,"eos_token":null,"unk_token":null,
                             "added_tokens_decoder":{}})",
                           nullptr),
                 "finds other added tokens in a text"));
}

TEST_CASE("a tokenizer.json beside another add_prefix_space: a note says which of the two transformers follows") {
  struct Case {
    const char* model_type;  // model_type of config.json; nullptr: there is none
    const char* config;
    bool in_file;
    const char* note;  // a part of it; "" for none
    bool adds;         // whether Gyre adds a space
  };
  constexpr const char *kFile =
                           "adds no space before a text, as tokenizer.json says, and its ids differ; Gyre adds one",
                       *kFileAdds =
                           "adds a space before a text, as tokenizer.json says, and its ids differ; Gyre adds "
                           "none, as add_prefix_space in tokenizer_config.json says",
                       *kClass =
                           "adds no space before a text, as the class of the model type gpt2 says, and its ids "
                           "differ; Gyre adds one, as tokenizer.json says";
  const Case cases[] = {
      {nullptr, R"({"tokenizer_class":"LlamaTokenizer","add_prefix_space":true})", false, kFile, true},
      {nullptr, R"({"tokenizer_class":"LlamaTokenizerFast","add_prefix_space":false})", true, kFileAdds, false},
      {"llama", R"({"tokenizer_class":"LlamaTokenizer","add_prefix_space":true})", true, "", true},
      {"llama", R"({"tokenizer_class":"LlamaTokenizer"})", true, "", true},
      {nullptr, R"({"add_prefix_space":true})", false, kFile, true},
      {"llama", R"({"add_prefix_space":false})", true, kFileAdds, false},
      {"gpt2", R"({"add_prefix_space":true})", false, "", true},
      {"gpt2", "{}", true, kClass, true},
      {"gpt2", "{}", false, "", false},
      {nullptr, R"({"tokenizer_class":"GPT2Tokenizer","add_prefix_space":true})", false, "", true},
      {nullptr, R"({"tokenizer_class":"PreTrainedTokenizerFast","add_prefix_space":true})", false, "", false},
  };
  for (const Case& c : cases) {
    CAPTURE(c.config);
    CAPTURE(c.in_file);
    const TemporaryDirectory directory;
    IndexedJson json = IndexedJson::parse(read_file(tokenizer_file("gpt2")));
    json["pre_tokenizer"]["add_prefix_space"] = c.in_file;
    write_text(directory, "tokenizer_config.json", c.config);
    if (c.model_type != nullptr) write_text(directory, "config.json", IndexedJson{{"model_type", c.model_type}}.dump());
    const auto vocabulary = load_vocabulary(write_text(directory, "tokenizer.json", json.dump()));
    CHECK((std::string_view(c.note).empty() ? vocabulary->note().empty() : contains(vocabulary->note(), c.note)));
    CHECK((vocabulary->encode("the") == vocabulary->encode(" the")) == c.adds);
  }
}

TEST_CASE("tokenizer.json: a chat template that is not UTF-8 is exported with replacement characters") {
  const TemporaryDirectory directory, exported;
  const Path file = write_text(directory, "tokenizer.json", read_file(tokenizer_file("llama3")));
  write_text(directory, "chat_template.jinja", "{{ \xff }}");
  CHECK(write_hugging_face_vocabulary(exported.path(), *load_vocabulary(file), 0));
  CHECK(contains(read_file(exported / "tokenizer_config.json"), "\"chat_template\": \"{{ \uFFFD }}\""));
}

TEST_CASE_FIXTURE(InDirectory, "vocab.json and merges.txt are read as transformers converts them") {
  const IndexedJson json = IndexedJson::parse(read_file(tokenizer_file("gpt2")));
  const Path file = write_text(directory, "vocab.json", json["model"]["vocab"].dump());
  CHECK(contains(error_of([&] { load_vocabulary(file); }), "vocab.json: expected merges.txt beside it"));
  std::string merges = "#version: 0.2\n";
  for (const IndexedJson& merge : json["model"]["merges"])
    merges += merge[0].get<std::string>() + " " + merge[1].get<std::string>() + "\n";
  write_text(directory, "merges.txt", merges);
  const auto vocabulary = load_vocabulary(file);
  const auto original = load_vocabulary(tokenizer_file("gpt2"));
  const IndexedJson expected = expected_byte_bpe();
  for (const IndexedJson& line : expected["lines"])
    CHECK(vocabulary->encode(line.get<std::string>()) == original->encode(line.get<std::string>()));
  CHECK(vocabulary->around_text().before.empty());
  write_text(directory, "tokenizer_config.json", R"({"tokenizer_class":"Qwen2Tokenizer"})");
  CHECK(load_vocabulary(file)->encode("12") == Ids{original->encode("1")[0], original->encode("2")[0]});
  write_text(directory, "tokenizer_config.json", R"({"tokenizer_class":"GPT2Tokenizer","add_prefix_space":true})");
  CHECK(load_vocabulary(file)->encode("the") == original->encode(" the"));
  write_text(directory, "tokenizer_config.json", R"({"tokenizer_class":"CLIPTokenizer"})");
  CHECK(contains(error_of([&] { load_vocabulary(file); }), "expected a tokenizer_class of GPT-2, GPT-NeoX, RoBERTa"));
  CHECK(contains(error_of([&] { load_vocabulary(directory / "merges.txt"); }), "give vocab.json"));
}

TEST_CASE("byte-level BPE: a long run of spaces is encoded") {
  const auto vocabulary = load_vocabulary(tokenizer_file("gpt2"));
  const std::string spaces(400000, ' ');
  CHECK(vocabulary->decode(vocabulary->encode(spaces + "x")) == spaces + "x");
}

// The tokens of a tokenizer.json keep their flags, whatever added_tokens.json beside it lists.
TEST_CASE_FIXTURE(InDirectory, "added_tokens.json does not change the tokens of a tokenizer.json") {
  IndexedJson json = IndexedJson::parse(read_file(source_dir() / "tests/data/golden/byte_bpe/gpt2.json"));
  const auto size = json["model"]["vocab"].size();
  json["added_tokens"].push_back({{"id", size},
                                  {"content", "<x>"},
                                  {"single_word", false},
                                  {"lstrip", true},
                                  {"rstrip", false},
                                  {"normalized", false},
                                  {"special", true}});
  const Path file = directory / "tokenizer.json";
  write_file(file, json.dump());
  const auto alone = load_vocabulary(file)->encode("a <x> b");
  write_file(directory / "added_tokens.json", IndexedJson{{"<x>", size}, {"<y>", size + 1}}.dump());
  const auto both = load_vocabulary(file);
  CHECK(both->encode("a <x> b") == alone);
  CHECK(both->size() == int(size) + 2);
}

TEST_CASE_FIXTURE(InDirectory, "settings of BERT do not apply to a byte-level BPE of another name") {
  const std::string text = read_file(source_dir() / "tests/data/golden/byte_bpe/gpt2.json");
  write_file(directory / "bpe.json", text);
  const auto print = load_vocabulary(directory / "bpe.json")->fingerprint();
  write_file(directory / "tokenizer_config.json", R"({"tokenizer_class":"BertTokenizer","do_lower_case":true})");
  CHECK(load_vocabulary(directory / "bpe.json")->fingerprint() == print);
  write_file(directory / "tokenizer.json", text);
  CHECK_THROWS_AS(load_vocabulary(directory / "tokenizer.json"), Error);
}

// ---- Compares the training of byte-level BPE with BpeTrainer of Hugging Face's package tokenizers ------------------

namespace {

Path training_text(const TemporaryDirectory& directory) {
  std::string text;
  const IndexedJson expected = IndexedJson::parse(read_file(golden("byte_bpe/golden.json")));
  for (const IndexedJson& line : expected["training"]) text += line.get<std::string>() + "\n";
  return write_text(directory, "text", text);
}

}  // namespace

TEST_CASE("byte-level BPE training: tokenizer.json equals that of Hugging Face's trainer, on any number of threads") {
  const TemporaryDirectory directory;
  const Path text = training_text(directory), output = directory / "tokenizer.json";
  for (const auto& [words, size] : {std::pair{ByteBpeWords::gpt2, 700}, std::pair{ByteBpeWords::llama3, 640}}) {
    const std::string name(enum_name(words));
    CAPTURE(name);
    const IndexedJson expected = IndexedJson::parse(read_file(golden("byte_bpe/" + name + ".json")));
    for (const int threads : {1, 3}) {
      const ThreadsInScope scope(threads);
      train_byte_bpe({text}, {.size = size, .pre_tokenizer = words}, output);
      const IndexedJson trained = IndexedJson::parse(read_file(output));
      CHECK(trained["model"] == expected["model"]);
      CHECK(trained["pre_tokenizer"] == expected["pre_tokenizer"]);
      CHECK(trained["post_processor"] == expected["post_processor"]);
      CHECK(trained["added_tokens"] == expected["added_tokens"]);
    }
  }
}

TEST_CASE_FIXTURE(InDirectory, "byte-level BPE training: symbols of the user are never split") {
  const Path text = training_text(directory), output = directory / "tokenizer.json";
  uint64_t reported = 0;
  const auto on_merge = [&](uint64_t merges, uint64_t most) {
    CHECK(most == 41);
    CHECK(merges == ++reported);
  };
  train_byte_bpe({text}, {.size = 300, .user_symbols = {"<sep>", "[MASK]"}, .text = {.on_merge = on_merge}}, output);
  CHECK(reported == 41);
  const auto vocabulary = load_vocabulary(output);
  CHECK(vocabulary->size() == 300);
  CHECK(vocabulary->encode("<sep>[MASK]") == std::vector<int32_t>{1, 2});
  CHECK(contains(error_of([&] { train_byte_bpe({text}, {.size = 256}, output); }), "--size: expected 257 to"));
  CHECK(
      contains(error_of([&] { train_byte_bpe({text}, {.user_symbols = {"a"}}, output); }), "--user-symbols: expected"));
  const auto error = [&](const std::vector<std::string>& symbols) {
    return error_of([&] { train_byte_bpe({text}, {.user_symbols = symbols}, output); });
  };
  CHECK(contains(error({"<a>", "<a>"}), "got \"<a>\" again"));
  CHECK(contains(error({"<|endoftext|>"}), "none of them a special token, got \"<|endoftext|>\" again"));
  CHECK(contains(error({"\u0120a"}), "that tokenizer.json reads as other bytes"));
}
