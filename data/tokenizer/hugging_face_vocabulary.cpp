#include "gyre/data/tokenizer/hugging_face_vocabulary.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/core/sizes.h"
#include "gyre/data/text/utf8.h"
#include "gyre/data/tokenizer/bert_files.h"
#include "gyre/data/tokenizer/hugging_face/legacy_files.h"
#include "gyre/data/tokenizer/hugging_face/tokenizer_classes.h"
#include "gyre/data/tokenizer/hugging_face/tokenizer_json.h"
#include "gyre/data/tokenizer/sentencepiece/sentencepiece_vocabulary.h"
#include "gyre/data/tokenizer/tokenizer_config.h"
#include "gyre/data/tokenizer/wobert/wobert_vocabulary.h"

namespace gyre {

namespace {

namespace fs = std::filesystem;
using Pointer = std::shared_ptr<const Vocabulary>;

// The exported tokenizer.json of a vocabulary of kind wobert, with the fields that transformers requires.
std::string tokenizer_json(const WordPieceVocabulary& vocabulary) {
  IndexedJson ids = IndexedJson::object();
  for (int id = 0; id < vocabulary.size(); ++id) {
    const std::string piece = vocabulary.piece(id);
    require(!first_invalid_utf8(piece), "[hugging face] piece ", id, ": expected UTF-8, got ",
            quoted_for_message(piece));
    ids[piece] = id;
  }
  const IndexedJson model{{"type", "WordPiece"},
                          {"unk_token", "[UNK]"},
                          {"continuing_subword_prefix", "##"},
                          {"max_input_chars_per_word", kLongestBertWord},
                          {"vocab", std::move(ids)}};
  return IndexedJson{{"version", "1.0"}, {"added_tokens", IndexedJson::array()}, {"model", model}}.dump() + "\n";
}

// Removes from the settings the tokens of added_tokens.json that the tokenizer.json has with flags of its own.
void drop_known_tokens(const IndexedJson& json, Json& config) {
  std::set<std::string> known;
  for (const IndexedJson& token : json.value("added_tokens", IndexedJson::array()))
    if (token.is_object() && token.value("content", IndexedJson()).is_string()) known.insert(token["content"]);
  auto left = Json::object();
  for (const auto& [id, token] : config["added_tokens_decoder"].items())
    if (!known.contains(token["content"].get<std::string>())) left[id] = token;
  config["added_tokens_decoder"] = left;
}

// The vocabulary of a tokenizer.json.
Pointer read_tokenizer_json_file(const Path& file, const std::string& content, TokenizerSettings settings) {
  const std::string context = tokenizer_context(file), name = tokenizer_class_of(settings.config);
  const TokenizerFamily family = family_of_class(name);
  const std::string type = find_model_type(file.parent_path());
  const bool is_free = family_of_model_type(type) == TokenizerFamily::other;
  // A look at the text saves the time to parse it twice.
  const bool is_plain =
      name.empty() ? is_free && !settings.config.contains("add_prefix_space") : follows_tokenizer_json(name);
  const bool has_added_tokens =
      settings.config.contains("added_tokens_decoder") && !lists_added_tokens(file.parent_path());
  if (is_plain && !has_added_tokens && content.find("\"merges\"") != content.npos)
    return std::make_shared<JsonVocabulary>(file.string(), content, std::move(settings));
  const IndexedJson json = parse_strict_json(content, kTokenizerJsonDepth, context, "the file");
  const IndexedJson model = json.is_object() ? json.value("model", IndexedJson()) : IndexedJson();
  if (!model.is_object())
    return std::make_shared<JsonVocabulary>(file.string(), content, std::move(settings));  // throws
  if (has_added_tokens) drop_known_tokens(json, settings.config);
  const bool is_bpe = model.contains("merges");
  // transformers reads files of this name only; others may lie beside the vocabulary to which the settings belong.
  const bool is_other_file = is_bpe && is_bert(family) && file.filename() != "tokenizer.json";
  if (is_other_file || (is_plain && is_bpe))
    return std::make_shared<JsonVocabulary>(file.string(), content,
                                            is_other_file ? TokenizerSettings{} : std::move(settings));
  require(is_bpe || is_bert(family) || family == TokenizerFamily::other, context,
          "model: expected BPE, as the tokenizer_class ", name, " in tokenizer_config.json beside it says, got ",
          cut_for_message(model.value("type", IndexedJson()).dump()));
  if (!is_bpe || is_bert(family)) return read_bert_tokenizer_json(file, json, content, std::move(settings));
  settings.note = replaced_part_note(json, settings.config, type, context);
  return std::make_shared<JsonVocabulary>(file.string(), content, std::move(settings));
}

void require_not_tekken(const Path& file, bool is_tekken) {
  require(!is_tekken, tokenizer_context(file), "expected a tokenizer.json, got a tekken.json of Mistral: transformers ",
          "converts it, AutoTokenizer.from_pretrained(DIR).save_pretrained(DIR)");
}

// The settings of the files in a directory.
TokenizerSettings settings_in(const Path& directory) {
  TokenizerSettings settings{.config = find_tokenizer_config(directory)};
  set_default_tokens(family_of_class(tokenizer_class_of(settings.config)), settings.config);
  return settings;
}

// The first id under `key` of a configuration, which may be a list; -1: none.
int id_in(const std::optional<Json>& config, const char* key) {
  IndexedJson id = config && config->is_object() ? IndexedJson(config->value(key, Json())) : IndexedJson();
  if (id.is_array() && !id.empty()) id = IndexedJson(id[0]);
  return id.is_number_unsigned() && id <= kMaxDimension ? id.get<int>() : -1;
}

}  // namespace

Pointer load_hugging_face_vocabulary(const Path& path, const std::string& content) {
  const std::string context = tokenizer_context(path);
  if (is_tokenizer_json(content)) return read_tokenizer_json_file(path, content, settings_in(path.parent_path()));
  if (is_vocab_json(content)) {
    TokenizerSettings settings = settings_in(path.parent_path());
    const std::string tokenizer = tokenizer_json_of_merges(path, settings.config);
    return std::make_shared<JsonVocabulary>(path.string(), tokenizer, std::move(settings));
  }
  require(!content.starts_with("#version: 0.2") || path.filename() != "merges.txt", context,
          "expected the pieces of these merges: give vocab.json, which finds merges.txt beside it");
  const std::string_view head = std::string_view(content).substr(0, 4096);
  require_not_tekken(path, head.find("\"default_vocab_size\"") != head.npos || path.filename() == "tekken.json");
  const bool is_tiktoken = head.starts_with("IQ== 0\n") || path.extension() == ".tiktoken";
  require(!is_tiktoken, context, "expected a tokenizer.json, got a file of tiktoken, which has no regular expression: ",
          "transformers converts it, AutoTokenizer.from_pretrained(DIR).save_pretrained(DIR)");
  if (!WordPieceVocabulary::recognizes(content)) return nullptr;
  return read_bert_vocabulary(path, content, settings_in(path.parent_path()));
}

Pointer read_hugging_face_vocabulary(const Path& directory, const TokenizerChoice& tokenizer, int64_t model_size,
                                     std::vector<std::string>& notes) {
  const auto file = [&](const char* name) { return directory / name; };
  const auto holds = [&](const char* name) { return fs::exists(file(name)); };
  tokenizer.check();
  const bool is_wobert = tokenizer.kind == "wobert";
  TokenizerSettings settings = settings_in(directory);
  settings.size = int(model_size);
  for (const char* name : {"generation_config.json", "config.json"}) {
    if (!holds(name)) continue;
    const auto config = find_json(read_file(file(name)));
    if (settings.bos_id < 0) settings.bos_id = id_in(config, "bos_token_id");
    if (settings.eos_id < 0) settings.eos_id = id_in(config, "eos_token_id");
  }
  Pointer vocabulary;
  if (holds("vocab.txt") && (is_wobert || has_roformer_tokenizer(directory))) {
    vocabulary = load_vocabulary(file("vocab.txt"));
  } else if (holds("tokenizer.json")) {
    try {
      vocabulary = read_tokenizer_json_file(file("tokenizer.json"), read_file(file("tokenizer.json")), settings);
    } catch (const Error& error) {
      if (!holds("tokenizer.model")) throw;
      notes.push_back(concat("tokenizer.model is read instead of tokenizer.json (", error.what(),
                             "): special tokens in a text are plain text for it"));
    }
  } else if (holds("vocab.json") && holds("merges.txt")) {
    const std::string text = tokenizer_json_of_merges(file("vocab.json"), settings.config);
    vocabulary = std::make_shared<JsonVocabulary>(file("vocab.json").string(), text, settings);
  }
  if (!vocabulary && holds("tokenizer.model")) {
    vocabulary = SentencePieceVocabulary::with_settings(
        file("tokenizer.model").string(), read_file(file("tokenizer.model")), settings.config, int(model_size));
  } else if (!vocabulary && holds("vocab.txt")) {
    vocabulary = read_bert_vocabulary(file("vocab.txt"), read_file(file("vocab.txt")), settings);
  }
  if (!vocabulary) {
    require_not_tekken(file("tekken.json"), holds("tekken.json"));
    return nullptr;
  }
  if (is_wobert) vocabulary = make_wobert_vocabulary(directory.string(), *vocabulary, tokenizer.dictionary);
  if (const std::string note = vocabulary->note(); !note.empty()) notes.push_back(note);
  return vocabulary;
}

Path hugging_face_copy_name(const Vocabulary& vocabulary) {
  if (dynamic_cast<const JsonVocabulary*>(&vocabulary) != nullptr) return "vocab.json";
  return dynamic_cast<const SentencePieceVocabulary*>(&vocabulary) != nullptr ? "vocab.model" : "vocab.txt";
}

bool names_bos(const Vocabulary& vocabulary) {
  if (const auto* json = dynamic_cast<const JsonVocabulary*>(&vocabulary)) return json->names_bos();
  const auto* sentencepiece = dynamic_cast<const SentencePieceVocabulary*>(&vocabulary);
  return sentencepiece == nullptr || sentencepiece->names_bos();
}

bool can_write_hugging_face(const Vocabulary& vocabulary) {
  // transformers does not have SentencePiece's models of words and characters.
  const bool is_sentencepiece = dynamic_cast<const SentencePieceVocabulary*>(&vocabulary) != nullptr &&
                                (vocabulary.kind() == "unigram" || vocabulary.kind() == "bpe");
  return is_sentencepiece || dynamic_cast<const WordPieceVocabulary*>(&vocabulary) != nullptr ||
         dynamic_cast<const JsonVocabulary*>(&vocabulary) != nullptr;
}

bool write_hugging_face_vocabulary(const Path& directory, const Vocabulary& vocabulary, int64_t longest) {
  const auto* wordpiece = dynamic_cast<const WordPieceVocabulary*>(&vocabulary);
  const auto* json = dynamic_cast<const JsonVocabulary*>(&vocabulary);
  const auto* sentencepiece = dynamic_cast<const SentencePieceVocabulary*>(&vocabulary);
  if (!can_write_hugging_face(vocabulary)) return false;
  if (wordpiece != nullptr) {
    write_file(directory / "vocab.txt", wordpiece->lines());
    // BertTokenizer for a RoFormer with WordPiece too, because RoFormerTokenizer splits Chinese text into words first
    // and would give different ids than Gyre.
    const bool finds_words = vocabulary.kind() == "wobert";
    if (finds_words) write_file(directory / "tokenizer.json", tokenizer_json(*wordpiece));
    write_tokenizer_config(directory, finds_words ? "RoFormerTokenizer" : "BertTokenizer", wordpiece->lower_case(),
                           longest > 0 ? std::optional(longest) : std::nullopt);
    return true;
  }
  auto config = json != nullptr ? json->tokenizer_config() : sentencepiece->tokenizer_config();
  if (longest > 0 && !config.contains("model_max_length")) config["model_max_length"] = longest;
  if (json != nullptr) write_file(directory / "tokenizer.json", json->tokenizer());
  if (sentencepiece != nullptr) write_file(directory / "tokenizer.model", sentencepiece->model());
  write_file(directory / "tokenizer_config.json", json_text(config, 2) + "\n");
  return true;
}

}  // namespace gyre
