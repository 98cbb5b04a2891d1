#include "gyre/data/tokenizer/bert_files.h"

#include <algorithm>
#include <optional>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/data/text/line_ends.h"
#include "gyre/data/text/utf8.h"
#include "gyre/data/tokenizer/hugging_face/characters.h"
#include "gyre/data/tokenizer/hugging_face/tokenizer_classes.h"
#include "gyre/data/tokenizer/hugging_face/tokenizer_json.h"
#include "gyre/data/tokenizer/tokenizer_config.h"
#include "gyre/data/tokenizer/wordpiece/wordpiece_vocabulary.h"

namespace gyre {

namespace {

using Pointer = std::shared_ptr<const Vocabulary>;

// Whether a field of the model is as expected. A missing one is: these are the defaults.
bool has_field(const IndexedJson& model, const char* key, const IndexedJson& expected) {
  const IndexedJson value = model.value(key, IndexedJson());
  return value.is_null() || value == expected;
}

bool has_bert_model(const IndexedJson& json) {
  const IndexedJson& model = json.at("model");
  return model.contains("vocab") && model["vocab"].is_object() && !model.contains("merges") &&
         has_field(model, "type", "WordPiece") && has_field(model, "continuing_subword_prefix", "##") &&
         has_field(model, "max_input_chars_per_word", kLongestBertWord);
}

// Whether the text is converted to lower case, if the normalizer is one that WordPieceVocabulary has.
std::optional<bool> plain_case(const IndexedJson& normalizer) {
  if (!normalizer.is_object() || normalizer.value("type", IndexedJson()) != "BertNormalizer") return std::nullopt;
  const IndexedJson lower = normalizer.value("lowercase", IndexedJson()),
                    strip = normalizer.value("strip_accents", IndexedJson());
  if (!lower.is_boolean() || (!strip.is_null() && strip != lower)) return std::nullopt;
  const IndexedJson expected{{"type", "BertNormalizer"},
                             {"clean_text", true},
                             {"handle_chinese_chars", true},
                             {"strip_accents", strip},
                             {"lowercase", lower}};
  IndexedJson own = normalizer;
  own["strip_accents"] = strip;
  return own == expected ? std::optional(lower.get<bool>()) : std::nullopt;
}

// Whether the added tokens, and those that begin and end a text, are those of WordPieceVocabulary.
bool has_plain_tokens(const JsonVocabulary& vocabulary) {
  const auto& added = vocabulary.added_tokens();
  const auto is_plain = [](const AddedToken& token) {
    return std::ranges::count(kBertSpecials, token.content) > 0 && !token.normalized && !token.lstrip &&
           !token.rstrip && !token.single_word && !token.stays_text;
  };
  const auto has = [&](int id, std::string_view piece) { return id >= 0 && vocabulary.piece(id) == piece; };
  int specials = 0;
  for (int id = 0; id < vocabulary.size(); ++id)
    specials += std::ranges::count(kBertSpecials, vocabulary.piece(id)) > 0 ? 1 : 0;
  return std::ranges::all_of(added, is_plain) && specials == int(added.size()) && has(vocabulary.unk(), "[UNK]") &&
         vocabulary.has_ends() && has(vocabulary.bos(), "[CLS]") && has(vocabulary.eos(), "[SEP]") &&
         (vocabulary.pad() < 0 || has(vocabulary.pad(), "[PAD]"));
}

// The pieces as the content of a vocab.txt; empty if it cannot hold them.
std::string lines_of(const JsonVocabulary& vocabulary) {
  std::string text;
  for (int id = 0; id < vocabulary.size(); ++id) {
    const std::string piece = vocabulary.piece(id);
    if (piece.empty() || piece.find_first_of("\r\n") != piece.npos) return "";
    text += piece + "\n";
  }
  return text;
}

// The vocabulary as a WordPieceVocabulary if that gives the same ids: it is exported as BERT's vocab.txt, and WoBERT
// builds on it. content: of a vocab.txt; empty if there is none.
Pointer simplest(const Path& file, const IndexedJson& json, std::string content, TokenizerSettings settings,
                 const std::string& text) {
  auto vocabulary = std::make_shared<JsonVocabulary>(file.string(), text, std::move(settings));
  const auto lower = plain_case(json.value("normalizer", IndexedJson()));
  const bool has_words = json.value("pre_tokenizer", IndexedJson()) == IndexedJson{{"type", "BertPreTokenizer"}};
  if (!lower || !has_words || !has_bert_model(json) || !has_plain_tokens(*vocabulary)) return vocabulary;
  if (content.empty()) content = lines_of(*vocabulary);
  if (content.empty()) return vocabulary;
  auto wordpiece = make_wordpiece_vocabulary(file.string(), std::move(content), *lower, vocabulary->note());
  bool is_same = wordpiece->size() == vocabulary->size();
  for (int id = 0; is_same && id < wordpiece->size(); ++id) is_same = wordpiece->piece(id) == vocabulary->piece(id);
  return is_same ? wordpiece : vocabulary;
}

int32_t id_of(const IndexedJson& json, const TokenizerSettings& settings, const char* key, const std::string& context) {
  const std::string token = find_token_setting(settings.config, key, context);
  const auto place = json["model"]["vocab"].find(token);
  require(place != json["model"]["vocab"].end() && place->is_number_unsigned(), context, "expected a piece ",
          quoted_for_message(token), ", the ", key, " of BERT's class");
  return place->get<int32_t>();
}

// Replaces the parts of a tokenizer.json, at least its model.vocab, by those that BERT's class makes.
// is_named: by a class or a model type.
void make_bert(IndexedJson& json, TokenizerSettings& settings, bool is_named, const std::string& context) {
  // Without a class, there are no tokens but the pieces.
  Json defaults = settings.config;
  set_default_tokens(TokenizerFamily::bert, defaults);
  for (const auto& [key, token] : defaults.items()) {
    const bool is_piece = token.is_string() && json["model"]["vocab"].contains(token.get<std::string>());
    if (is_named || is_piece || key == "cls_token" || key == "sep_token" || key == "unk_token")
      settings.config[key] = token;
  }
  json["normalizer"] = normalizer_of(TokenizerFamily::bert, settings.config, context);
  json["pre_tokenizer"] = pre_tokenizer_of(TokenizerFamily::bert, settings.config, context);
  json["decoder"] = {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", false}};
  const std::string unk = find_token_setting(settings.config, "unk_token", context);
  const int32_t cls = id_of(json, settings, "cls_token", context), sep = id_of(json, settings, "sep_token", context);
  id_of(json, settings, "unk_token", context);
  json["post_processor"] = template_processing({{find_token_setting(settings.config, "cls_token", context), cls}},
                                               {{find_token_setting(settings.config, "sep_token", context), sep}});
  IndexedJson& model = json["model"];
  model["type"] = "WordPiece";
  model["unk_token"] = unk;
  model["continuing_subword_prefix"] = "##";
  model["max_input_chars_per_word"] = kLongestBertWord;
}

// Throws for a part that BERT's class would replace, other than by a setting.
void require_bert_parts(const IndexedJson& json, const std::string& name, const std::string& context) {
  const auto require_part = [&](bool is_good, const char* part, const IndexedJson& got) {
    require(is_good, context, part, ": expected that of BERT, as the tokenizer_class ", name, " beside it says, got ",
            cut_for_message(got.dump()),
            R"(: to follow the file, write {"tokenizer_class": "PreTrainedTokenizerFast"})",
            " to tokenizer_config.json");
  };
  const IndexedJson normalizer = json.value("normalizer", IndexedJson()),
                    words = json.value("pre_tokenizer", IndexedJson());
  const bool is_normalizer = normalizer.is_object() && normalizer.value("type", IndexedJson()) == "BertNormalizer" &&
                             normalizer.value("clean_text", IndexedJson(true)) == true;
  require_part(has_bert_model(json), "model", json["model"].value("type", IndexedJson()));
  require_part(normalizer.is_null() || is_normalizer, "normalizer", normalizer);
  require_part(words.is_null() || words == IndexedJson{{"type", "BertPreTokenizer"}}, "pre_tokenizer", words);
}

// Copies the added tokens of the file to those of the settings, where an export finds them.
void copy_added_tokens(const IndexedJson& json, Json& decoder) {
  for (IndexedJson token : json.value("added_tokens", IndexedJson::array())) {
    if (!token.is_object() || !token.contains("id")) continue;
    const std::string id = token["id"].dump();
    token.erase("id");
    decoder[id] = token;
  }
}

void note_chinese_words(TokenizerSettings& settings) {
  if (family_of_class(tokenizer_class_of(settings.config)) == TokenizerFamily::roformer)
    settings.note =
        "its RoFormerTokenizer finds Chinese words first, and WordPiece splits Chinese into characters; "
        "--tokenizer wobert --dictionary FILE finds words";
}

// The library drops white space at the ends of lines, and takes the last of equal lines.
IndexedJson pieces_of(const std::string& content, const std::string& context) {
  IndexedJson vocab = IndexedJson::object();
  uint32_t id = 0;
  std::string_view rest = content;
  for (std::string_view line; take_line(rest, line); ++id) {
    require(!first_invalid_utf8(line), context, id + 1, ": expected UTF-8");
    const std::string piece(line.substr(0, line.size() - trailing_space(line)));
    const bool is_new = vocab.emplace(piece.empty() ? std::string(line) : piece, id).second;
    require(is_new, context, id + 1, ": the piece \"", cut_for_message(line), "\" occurs twice");
  }
  return vocab;
}

}  // namespace

Pointer read_bert_vocabulary(const Path& file, const std::string& content, TokenizerSettings settings) {
  const std::string context = tokenizer_context(file), name = tokenizer_class_of(settings.config),
                    type = find_model_type(file.parent_path());
  const bool is_known =
      name.empty() ? type.empty() || is_bert(family_of_model_type(type)) : is_bert(family_of_class(name));
  require(is_known, context, "expected a tokenizer_class such as BertTokenizer in tokenizer_config.json, or a ",
          "model_type such as bert in config.json, got ", cut_for_message(name.empty() ? type : name),
          ": transformers converts it, AutoTokenizer.from_pretrained(DIR).save_pretrained(DIR)");
  note_chinese_words(settings);
  IndexedJson json{{"model", {{"vocab", pieces_of(content, concat("[vocabulary] ", file.string(), ":"))}}}};
  make_bert(json, settings, !name.empty() || !type.empty(), context);
  return simplest(file, json, content, settings, json.dump());
}

Pointer read_bert_tokenizer_json(const Path& file, IndexedJson json, std::string content, TokenizerSettings settings) {
  const auto make = [&](const std::string& context) {
    if (settings.config.contains("added_tokens_decoder")) {
      if (!lists_added_tokens(file.parent_path())) copy_added_tokens(json, settings.config["added_tokens_decoder"]);
      json["added_tokens"] = IndexedJson::array();
    }
    make_bert(json, settings, true, context);
    content = json.dump();
  };
  const std::string context = tokenizer_context(file), name = tokenizer_class_of(settings.config),
                    type = find_model_type(file.parent_path());
  const bool is_empty =
      json.value("normalizer", IndexedJson()).is_null() && json.value("pre_tokenizer", IndexedJson()).is_null();
  if (is_bert(family_of_class(name))) {
    require_bert_parts(json, name, context);
    note_chinese_words(settings);
    make(context);
  } else if (name.empty() && is_empty && is_bert(family_of_model_type(type)) && has_bert_model(json)) {
    make(context);
  } else {
    const bool is_wordpiece =
        !json["model"].contains("merges") && json["model"].value("type", IndexedJson("WordPiece")) == "WordPiece";
    require(name.empty() || follows_tokenizer_json(name) || !is_wordpiece, context,
            "expected the tokenizer_class BertTokenizer or PreTrainedTokenizerFast beside it, got ",
            cut_for_message(name));
    const bool is_default = plain_case(json.value("normalizer", IndexedJson())) == true && has_bert_model(json) &&
                            json.value("pre_tokenizer", IndexedJson()) == IndexedJson{{"type", "BertPreTokenizer"}};
    const bool is_bert_type = is_bert(family_of_model_type(type));
    if (name.empty() && is_wordpiece && !type.empty() && !(is_bert_type && is_default))
      settings.note = concat("without a tokenizer_class, transformers 5 takes ",
                             is_bert_type ? "BertTokenizer in lower case" : "a class of its own",
                             " for the model type ", type, ", and its ids may differ; Gyre follows tokenizer.json");
  }
  return simplest(file, json, "", std::move(settings), content);
}

}  // namespace gyre
