#include "gyre/data/tokenizer/hugging_face_vocabulary.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "gyre/core/error.h"
#include "gyre/core/io/file.h"
#include "gyre/core/io/json.h"
#include "gyre/core/option_checks.h"
#include "gyre/data/text/line_stream.h"
#include "gyre/data/text/utf8.h"
#include "gyre/data/tokenizer/hugging_face/characters.h"
#include "gyre/data/tokenizer/hugging_face/json_vocabulary.h"
#include "gyre/data/tokenizer/hugging_face/tokenizer_classes.h"
#include "gyre/data/tokenizer/hugging_face/tokenizer_json.h"
#include "gyre/data/tokenizer/sentencepiece/sentencepiece_vocabulary.h"
#include "gyre/data/tokenizer/tokenizer_config.h"
#include "gyre/data/tokenizer/wobert/wobert_vocabulary.h"
#include "gyre/data/tokenizer/wordpiece/wordpiece_vocabulary.h"

namespace gyre {
namespace {

// ---- Converts the files of a tokenizer from before tokenizer.json to that format, as transformers does -------------

// Lines of two pieces, after a first line "#version: 0.2".
Json read_merges(const Path& file) {
  const std::string content = read_file(file);
  std::string_view rest = content, line;
  Json merges = Json::array();
  for (size_t number = 1; take_line(rest, line); ++number) {
    if (line.empty() || (number == 1 && line.starts_with("#version"))) continue;
    const size_t space = line.find(' ');
    const bool is_pair = space != line.npos && line.find(' ', space + 1) == line.npos && !first_invalid_utf8(line);
    if (!is_pair)
      throw Error("[vocabulary] ", file.string(), ":", number,
                  ": expected two pieces with a space between them, got \"", cut_for_message(line), "\"");
    merges.push_back(Json::array({std::string(line.substr(0, space)), std::string(line.substr(space + 1))}));
  }
  return merges;
}

// Reads an object with the ids of pieces, which are 0 .. number of pieces - 1. Returns the pieces by id.
std::vector<std::string> read_pieces(const IndexedJson& vocab, const std::string& context) {
  std::vector<std::string> pieces(vocab.size());
  std::vector<bool> taken(vocab.size());
  for (const auto& [piece, id] : vocab.items()) {
    const bool fits = id.is_number_unsigned() && id < pieces.size() && !taken[id.get<size_t>()];
    if (!fits)
      throw Error(context, "piece ", quoted_for_message(piece), ": expected a unique id below ", pieces.size(),
                  ", got ", cut_for_message(id.dump()));
    taken[id.get<size_t>()] = true;
    pieces[id.get<size_t>()] = piece;
  }
  return pieces;
}

TemplateToken named_piece(const Json& config, const char* key, const std::vector<std::string>& pieces,
                          const std::string& context) {
  const std::string token = find_token_setting(config, key, context);
  const auto place = std::find(pieces.begin(), pieces.end(), token);
  require(place != pieces.end(), context, "expected ", quoted_for_message(token), ", the ", key,
          " of RoBERTa's class, among the pieces");
  return {token, int32_t(place - pieces.begin())};
}

// Those of the directories that name no class at all, which transformers does not read.
std::vector<AddedToken> usual_specials(const std::vector<std::string>& pieces) {
  const auto place = std::find(pieces.begin(), pieces.end(), "<|endoftext|>");
  if (place == pieces.end()) return {};
  return {{.content = *place, .id = int32_t(place - pieces.begin()), .special = true}};
}

// The class that the settings name, or else that of the model type.
TokenizerFamily family_of(const Path& vocab_json, const Json& config) {
  const std::string name = tokenizer_class_of(config), type = find_model_type(vocab_json.parent_path());
  const bool is_free = name.empty() || follows_tokenizer_json(name);
  if (is_free && type.empty()) return TokenizerFamily::gpt2;
  const TokenizerFamily theirs = class_of_transformers(config, type, false).family;
  const TokenizerFamily family = theirs != TokenizerFamily::other ? theirs
                                 : is_free                        ? family_of_model_type(type)
                                                                  : family_of_class(name);
  require(family == TokenizerFamily::gpt2 || family == TokenizerFamily::roberta || family == TokenizerFamily::qwen2 ||
              family == TokenizerFamily::gpt_neox,
          "[vocabulary] ", vocab_json.string(), ": expected a tokenizer_class of GPT-2, GPT-NeoX, RoBERTa or Qwen2 in ",
          "tokenizer_config.json, or their model_type in config.json, got ", cut_for_message(is_free ? type : name),
          ": transformers converts it, AutoTokenizer.from_pretrained(DIR).save_pretrained(DIR)");
  return family;
}

// Whether the content may be a vocab.json, an object with the ids of pieces.
// Looks at the first piece only, such as {"!": 0.
bool is_vocab_json(std::string_view content) {
  constexpr std::string_view kSpace = " \t\r\n";
  const auto skip = [&](size_t at) { return std::min(content.size(), content.find_first_not_of(kSpace, at)); };
  const auto holds = [&](size_t at, char c) { return at < content.size() && content[at] == c; };
  const size_t begin = skip(0), quote = skip(begin + 1);
  if (!holds(begin, '{') || !holds(quote, '"')) return false;
  size_t end = quote + 1;
  while (end < content.size() && content[end] != '"') end += content[end] == '\\' ? 2 : 1;
  const size_t colon = skip(end + 1), value = skip(colon + 1);
  return holds(colon, ':') && value < content.size() && content[value] >= '0' && content[value] <= '9';
}

// Converts vocab.json and the merges.txt beside it, of byte-level BPE. config: that of find_tokenizer_config, whose
// tokenizer_class, or else the model_type of config.json, decides on the words and on the special tokens, which are
// added to it; without both, they are those of GPT-2. RoBERTa's class adds <s> and </s>. Throws an Error that names the
// file for other classes and for malformed files.
std::string tokenizer_json_of_merges(const Path& vocab_json, Json& config) {
  const Path merges = vocab_json.parent_path() / "merges.txt";
  require(std::filesystem::exists(merges), "[vocabulary] ", vocab_json.string(),
          ": expected merges.txt beside it, because the pieces alone do not say how text is divided into them");
  const TokenizerFamily family = family_of(vocab_json, config);
  TokenizerJsonText text;
  const std::string context = concat("[vocabulary] ", vocab_json.string(), ": ");
  text.pieces = read_pieces(parse_strict_json(read_file(vocab_json), 1, context, "the file"), context);
  text.merges = read_merges(merges);
  for (const Json& merge : text.merges)
    require(!merge[1].get_ref<const std::string&>().ends_with("</w>"), "[vocabulary] ", merges.string(),
            ": expected byte-level BPE, as of GPT-2, got BPE with </w> at the ends of words");
  const bool is_nameless = tokenizer_class_of(config).empty() && find_model_type(vocab_json.parent_path()).empty();
  if (is_nameless)
    text.added = usual_specials(text.pieces);
  else
    set_default_tokens(family, config);
  text.normalizer = normalizer_of(family, config, context);
  text.pre_tokenizer = pre_tokenizer_of(family, config, context);
  text.post_processor = byte_level(true, true);
  if (family == TokenizerFamily::roberta) {
    const TemplateToken sep = named_piece(config, "sep_token", text.pieces, context),
                        cls = named_piece(config, "cls_token", text.pieces, context);
    text.post_processor = {{"type", "RobertaProcessing"},
                           {"sep", {sep.content, sep.id}},
                           {"cls", {cls.content, cls.id}},
                           {"trim_offsets", true},
                           {"add_prefix_space", false}};
  }
  text.decoder = byte_level(true, true);
  text.model = {{"type", "BPE"},
                {"dropout", nullptr},
                {"unk_token", nullptr},
                {"continuing_subword_prefix", ""},
                {"end_of_word_suffix", ""},
                {"fuse_unk", false},
                {"byte_fallback", false},
                {"ignore_merges", false}};
  return text.write();
}

// ---- The files of BertTokenizer of transformers 5, which makes them from pieces and settings -----------------------

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
  // A tokenizer without a class has no tokens but the pieces.
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
    if (!is_new) throw Error(context, id + 1, ": the piece \"", cut_for_message(line), "\" occurs twice");
  }
  return vocab;
}

// The vocabulary of a vocab.txt, whose lines are the pieces. The settings are those beside the file. Throws an Error
// that names the file for a class of tokenizers that is not BERT's.
std::shared_ptr<const Vocabulary> read_bert_vocabulary(const Path& file, const std::string& content,
                                                       TokenizerSettings settings) {
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

// The vocabulary of a tokenizer.json, `json` and its content. If the settings name a class of BERT's, they decide on
// lower case, accents and Chinese characters, and an Error names any other part that the class would replace.
std::shared_ptr<const Vocabulary> read_bert_tokenizer_json(const Path& file, IndexedJson json, std::string content,
                                                           TokenizerSettings settings) {
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

namespace fs = std::filesystem;
using Pointer = std::shared_ptr<const Vocabulary>;

// The exported tokenizer.json of a vocabulary of kind wobert, with the fields that transformers requires.
std::string tokenizer_json(const WordPieceVocabulary& vocabulary) {
  IndexedJson ids = IndexedJson::object();
  for (int id = 0; id < vocabulary.size(); ++id) {
    const std::string piece = vocabulary.piece(id);
    if (first_invalid_utf8(piece))
      throw Error("[hugging face] piece ", id, ": expected UTF-8, got ", quoted_for_message(piece));
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
  // Looks at the text save the time to parse it twice.
  const ClassOfTransformers theirs =
      class_of_transformers(settings.config, type, content.find("\"ByteLevel\"") != content.npos);
  const bool is_plain =
      theirs.follows_file && family == TokenizerFamily::other && !prefix_space_setting(settings.config, context);
  const bool lists_added = lists_added_tokens(file.parent_path());
  const bool has_added_tokens = settings.config.contains("added_tokens_decoder") && !lists_added;
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
  settings.note = replaced_part_note(json, settings.config, theirs, context);
  if (settings.note.empty()) settings.note = added_tokens_note(json, settings.config, theirs, lists_added, context);
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
  const bool is_wobert = tokenizer.kind == TokenizerKind::wobert;
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
  return dynamic_cast<const WordPieceVocabulary*>(&vocabulary) != nullptr ? "vocab.txt" : "vocab.model";
}

bool names_bos(const Vocabulary& vocabulary) {
  if (const auto* json = dynamic_cast<const JsonVocabulary*>(&vocabulary)) return json->names_bos();
  const auto* sentencepiece = dynamic_cast<const SentencePieceVocabulary*>(&vocabulary);
  return sentencepiece == nullptr || sentencepiece->names_bos();
}

std::string find_chat_template(const Path& directory, const Vocabulary& vocabulary) {
  if (const Path file = directory / kChatTemplateFile; fs::exists(file)) return read_file(file);
  if (const auto* json = dynamic_cast<const JsonVocabulary*>(&vocabulary))
    return find_chat_template(json->tokenizer_config());
  const auto* sentencepiece = dynamic_cast<const SentencePieceVocabulary*>(&vocabulary);
  return sentencepiece == nullptr ? "" : find_chat_template(sentencepiece->tokenizer_config());
}

bool can_write_hugging_face(const Vocabulary& vocabulary) {
  // transformers does not have SentencePiece's models of words and characters.
  const bool is_sentencepiece = dynamic_cast<const SentencePieceVocabulary*>(&vocabulary) != nullptr &&
                                (vocabulary.kind() == "unigram" || vocabulary.kind() == "bpe");
  return is_sentencepiece || dynamic_cast<const WordPieceVocabulary*>(&vocabulary) != nullptr ||
         dynamic_cast<const JsonVocabulary*>(&vocabulary) != nullptr;
}

bool write_hugging_face_vocabulary(const Path& directory, const Vocabulary& vocabulary, int64_t longest,
                                   const std::string& chat_template) {
  const auto* wordpiece = dynamic_cast<const WordPieceVocabulary*>(&vocabulary);
  const auto* json = dynamic_cast<const JsonVocabulary*>(&vocabulary);
  const auto* sentencepiece = dynamic_cast<const SentencePieceVocabulary*>(&vocabulary);
  if (!can_write_hugging_face(vocabulary)) return false;
  if (!chat_template.empty()) write_file(directory / kChatTemplateFile, chat_template);
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
  if (!chat_template.empty()) config.erase(kChatTemplate);
  if (json != nullptr) write_file(directory / "tokenizer.json", json->tokenizer());
  if (sentencepiece != nullptr) write_file(directory / "tokenizer.model", sentencepiece->model());
  write_file(directory / "tokenizer_config.json", json_text(config, 2) + "\n");
  return true;
}

}  // namespace gyre
