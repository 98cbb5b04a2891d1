#include "gyre/data/tokenizer/hugging_face_vocabulary.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "gyre/core/error.h"
#include "gyre/core/io/strict_json.h"
#include "gyre/core/sizes.h"
#include "gyre/data/text/line_ends.h"
#include "gyre/data/text/utf8.h"
#include "gyre/data/tokenizer/hugging_face/legacy_files.h"
#include "gyre/data/tokenizer/hugging_face/tokenizer_json.h"
#include "gyre/data/tokenizer/sentencepiece/sentencepiece_vocabulary.h"
#include "gyre/data/tokenizer/tokenizer_config.h"
#include "gyre/data/tokenizer/wobert/wobert_vocabulary.h"

namespace gyre {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using Pointer = std::shared_ptr<const Vocabulary>;

constexpr int kDeepest = 20;  // of JSON

std::string context_of(const Path& file) { return concat("[vocabulary] ", file.string(), ": "); }

struct BertSettings {
  bool lower_case = true, strip_accents = true, chinese = true;
};

// The tokenizer.json of BERT with these pieces, by id.
std::string tokenizer_json_of_bert(const std::vector<std::string>& pieces, const BertSettings& settings) {
  TokenizerJsonText text;
  text.pieces = pieces;
  const auto id_of = [&](std::string_view piece) {
    return int32_t(std::find(pieces.begin(), pieces.end(), piece) - pieces.begin());
  };
  for (const std::string_view token : kBertSpecials)
    if (const int32_t id = id_of(token); size_t(id) < pieces.size())
      text.added.push_back({.content = std::string(token), .id = id, .special = true});
  text.normalizer = {{"type", "BertNormalizer"},
                     {"clean_text", true},
                     {"handle_chinese_chars", settings.chinese},
                     {"strip_accents", settings.strip_accents},
                     {"lowercase", settings.lower_case}};
  text.pre_tokenizer = {{"type", "BertPreTokenizer"}};
  text.post_processor = template_processing({{"[CLS]", id_of("[CLS]")}}, {{"[SEP]", id_of("[SEP]")}});
  text.decoder = {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", false}};
  text.model = {{"type", "WordPiece"},
                {"unk_token", "[UNK]"},
                {"continuing_subword_prefix", "##"},
                {"max_input_chars_per_word", kLongestBertWord}};
  return text.write();
}

// Whether transformers sets the normalizer and the pre-tokenizer of this class of WordPiece by itself.
bool is_bert_class(const nlohmann::ordered_json& config) {
  const auto place = config.find("tokenizer_class");
  if (place == config.end() || !place->is_string()) return false;
  const auto& name = place->get_ref<const std::string&>();
  return !name.starts_with("PreTrainedTokenizer") && name != "TokenizersBackend";
}

// Whether the added tokens are those that WordPieceVocabulary finds in a text.
bool has_bert_specials(const Json& json) {
  const Json added = json.value("added_tokens", Json::array());
  if (!added.is_array()) return false;
  std::vector<std::string> contents;
  for (const Json& token : added) {
    if (!token.is_object() || !token.value("content", Json()).is_string()) return false;
    for (const char* flag : {"single_word", "lstrip", "rstrip", "normalized"})
      if (token.value(flag, Json()) != false) return false;
    contents.push_back(token["content"]);
    if (std::ranges::count(kBertSpecials, contents.back()) == 0) return false;
    if (json["model"]["vocab"].value(contents.back(), Json()) != token.value("id", Json())) return false;
  }
  return std::ranges::all_of(kBertSpecials, [&](std::string_view special) {
    return !json["model"]["vocab"].contains(special) || std::ranges::count(contents, special) > 0;
  });
}

// Returns whether the text is converted to lower case, if a tokenizer.json says what WordPieceVocabulary does;
// otherwise nullopt. assumes_bert: for files without a normalizer and a pre-tokenizer.
std::optional<bool> bert_case(const Json& json, bool assumes_bert) {
  if (!json.is_object()) return std::nullopt;
  const Json model = json.value("model", Json());
  const bool is_wordpiece = model.is_object() && model.contains("vocab") && model["vocab"].is_object() &&
                            model.value("type", Json("WordPiece")) == "WordPiece" && !model.contains("merges") &&
                            model.value("unk_token", Json("[UNK]")) == "[UNK]" &&
                            model.value("continuing_subword_prefix", Json("##")) == "##" &&
                            model.value("max_input_chars_per_word", Json(kLongestBertWord)) == kLongestBertWord;
  if (!is_wordpiece) return std::nullopt;
  const Json normalizer = json.value("normalizer", Json()), words = json.value("pre_tokenizer", Json());
  if (assumes_bert && normalizer.is_null() && words.is_null()) return true;
  if (words != Json{{"type", "BertPreTokenizer"}} || !normalizer.is_object() || !has_bert_specials(json))
    return std::nullopt;
  const Json lower = normalizer.value("lowercase", Json()), strip = normalizer.value("strip_accents", Json());
  if (!lower.is_boolean() || (!strip.is_null() && strip != lower)) return std::nullopt;
  const Json expected{{"type", "BertNormalizer"},
                      {"clean_text", true},
                      {"handle_chinese_chars", true},
                      {"strip_accents", strip},
                      {"lowercase", lower}};
  Json own = normalizer;
  own["strip_accents"] = strip;
  return own == expected ? std::optional(lower.get<bool>()) : std::nullopt;
}

// The pieces of a tokenizer.json of WordPiece, as the content of a vocab.txt.
std::string pieces_of(const Json& json, const std::string& context) {
  std::string text;
  for (const std::string& piece : read_pieces(json["model"]["vocab"], context)) {
    require(piece.find('\n') == piece.npos, context, "piece ", quoted_for_message(piece), ": expected no line break");
    text += piece + "\n";
  }
  return text;
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  for (std::string_view line; take_line(text, line);) lines.emplace_back(line);
  return lines;
}

// The exported tokenizer.json of a vocabulary of kind wobert, with the fields that transformers requires.
std::string tokenizer_json(const WordPieceVocabulary& vocabulary) {
  Json ids = Json::object();
  for (int id = 0; id < vocabulary.size(); ++id) {
    const std::string piece = vocabulary.piece(id);
    require(!first_invalid_utf8(piece), "[hugging face] piece ", id, ": expected UTF-8, got ",
            quoted_for_message(piece));
    ids[piece] = id;
  }
  const Json model{{"type", "WordPiece"},
                   {"unk_token", "[UNK]"},
                   {"continuing_subword_prefix", "##"},
                   {"max_input_chars_per_word", kLongestBertWord},
                   {"vocab", std::move(ids)}};
  return Json{{"version", "1.0"}, {"added_tokens", Json::array()}, {"model", model}}.dump() + "\n";
}

// The vocabulary of a tokenizer.json: a WordPieceVocabulary if it is BERT's and the model has no more ids.
Pointer read_tokenizer_json_file(const Path& file, const std::string& content, TokenizerSettings settings,
                                 bool assumes_bert) {
  const std::string context = context_of(file);
  // BPE is never BERT's: a look at the text saves the time to parse it twice.
  if (content.find("\"merges\"") == content.npos) {
    const Json json = parse_strict_json(content, kDeepest, context, "the file");
    if (const auto own = bert_case(json, assumes_bert || is_bert_class(settings.config))) {
      const bool is_set = settings.config.contains("do_lower_case");
      const auto setting = find_lower_case_setting(file.parent_path());
      const bool is_assumed = json.value("normalizer", Json()).is_null();
      const bool lower = is_assumed ? setting.value_or(true) : *own;
      require(is_assumed || !is_set || setting == lower, context, "normalizer.lowercase: expected do_lower_case of ",
              "tokenizer_config.json beside it, got ", lower ? "true" : "false");
      const std::string pieces = pieces_of(json, context);
      auto vocabulary = make_wordpiece_vocabulary(file.string(), pieces, lower);
      if (settings.size <= vocabulary->size()) return vocabulary;
      if (is_assumed) {
        const std::string text =
            tokenizer_json_of_bert(lines_of(pieces), {.lower_case = lower, .strip_accents = lower});
        return std::make_shared<JsonVocabulary>(file.string(), text, std::move(settings));
      }
    }
  }
  return std::make_shared<JsonVocabulary>(file.string(), content, std::move(settings));
}

void require_not_tekken(const Path& file, bool is_tekken) {
  require(!is_tekken, context_of(file), "expected a tokenizer.json, got a tekken.json of Mistral: transformers ",
          "converts it, AutoTokenizer.from_pretrained(DIR).save_pretrained(DIR)");
}

// The settings beside a file.
TokenizerSettings settings_beside(const Path& file) { return {.config = find_tokenizer_config(file.parent_path())}; }

// The first id under `key` of a configuration, which may be a list; -1: none.
int id_in(const std::optional<nlohmann::ordered_json>& config, const char* key) {
  Json id = config && config->is_object() ? Json(config->value(key, nlohmann::ordered_json())) : Json();
  if (id.is_array() && !id.empty()) id = Json(id[0]);
  return id.is_number_unsigned() && id <= kMaxDimension ? id.get<int>() : -1;
}

// A vocab.txt with settings that WordPieceVocabulary does not have, or for a model with more ids.
Pointer read_vocab_txt(const Path& file, const TokenizedModel& model, TokenizerSettings settings) {
  const auto flag = [&](const char* key, bool otherwise) {
    const auto value = settings.config.value(key, nlohmann::ordered_json());
    require(value.is_null() || value.is_boolean(), context_of(file.parent_path() / "tokenizer_config.json"),
            "expected ", key, " to be true or false, got ", cut_for_message(value.dump()));
    return value.is_null() ? otherwise : value.get<bool>();
  };
  const std::string content = read_file(file);
  BertSettings bert{.lower_case = flag("do_lower_case", true)};
  bert.strip_accents = flag("strip_accents", bert.lower_case);
  bert.chinese = flag("tokenize_chinese_chars", true);
  const std::vector<std::string> pieces = lines_of(content);
  bool adds_tokens = false;
  const auto added = settings.config.value("added_tokens_decoder", nlohmann::ordered_json::object());
  for (const auto& [id, token] : added.items())
    adds_tokens = adds_tokens || !token.is_object() ||
                  std::ranges::count(kBertSpecials, token.value("content", std::string())) == 0;
  const bool is_plain = !adds_tokens && bert.strip_accents == bert.lower_case && bert.chinese;
  if (is_plain && model.size <= int64_t(pieces.size())) return load_vocabulary(file);
  make_wordpiece_vocabulary(file.string(), content, bert.lower_case);  // checks the pieces
  return std::make_shared<JsonVocabulary>(file.string(), tokenizer_json_of_bert(pieces, bert), std::move(settings));
}

}  // namespace

Pointer load_hugging_face_vocabulary(const Path& path, const std::string& content) {
  const std::string context = context_of(path);
  if (is_tokenizer_json(content)) return read_tokenizer_json_file(path, content, settings_beside(path), false);
  if (is_vocab_json(content)) {
    TokenizerSettings settings = settings_beside(path);
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
  return nullptr;
}

Pointer read_hugging_face_vocabulary(const Path& directory, const TokenizerChoice& tokenizer,
                                     const TokenizedModel& model, std::vector<std::string>& notes) {
  const auto file = [&](const char* name) { return directory / name; };
  const auto holds = [&](const char* name) { return fs::exists(file(name)); };
  tokenizer.check();
  const bool is_wobert = tokenizer.kind == "wobert";
  TokenizerSettings settings{.config = find_tokenizer_config(directory), .size = int(model.size)};
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
      vocabulary = read_tokenizer_json_file(file("tokenizer.json"), read_file(file("tokenizer.json")), settings,
                                            !model.causal && !settings.config.contains("tokenizer_class"));
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
        file("tokenizer.model").string(), read_file(file("tokenizer.model")), settings.config, int(model.size));
  } else if (!vocabulary && holds("vocab.txt")) {
    vocabulary = read_vocab_txt(file("vocab.txt"), model, settings);
  }
  if (!vocabulary) {
    require_not_tekken(file("tekken.json"), holds("tekken.json"));
    return nullptr;
  }
  if (const std::string note = vocabulary->note(); !note.empty()) notes.push_back(note);
  return is_wobert ? make_wobert_vocabulary(directory.string(), *vocabulary, tokenizer.dictionary) : vocabulary;
}

Path hugging_face_copy_name(const Vocabulary& vocabulary) {
  if (dynamic_cast<const JsonVocabulary*>(&vocabulary) != nullptr) return "vocab.json";
  return dynamic_cast<const SentencePieceVocabulary*>(&vocabulary) != nullptr ? "vocab.model" : "vocab.txt";
}

bool can_write_hugging_face(const Vocabulary& vocabulary) {
  return dynamic_cast<const WordPieceVocabulary*>(&vocabulary) != nullptr ||
         dynamic_cast<const JsonVocabulary*>(&vocabulary) != nullptr ||
         dynamic_cast<const SentencePieceVocabulary*>(&vocabulary) != nullptr;
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
