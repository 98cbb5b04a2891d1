#include "gyre/data/tokenizer/hugging_face/json_vocabulary.h"

#include <algorithm>
#include <optional>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/core/option_checks.h"
#include "gyre/data/tokenizer/hugging_face/characters.h"
#include "gyre/data/tokenizer/hugging_face/tokenizer_classes.h"
#include "gyre/data/tokenizer/tokenizer_config.h"

namespace gyre {

struct TokenizerEnds {
  std::string bos{}, eos{};
  bool names_bos = false;  // not the token that ends a text for want of another
};

namespace {

constexpr const char *kTokenizer = "tokenizer", *kConfig = "tokenizer_config";
constexpr const char *kBytesKind = "byte-bpe", *kKind = "hugging-face";  // kinds of bundles

TokenizerSettings settings_of(const std::string& name, const VocabularyBundle& bundle) {
  const auto& options = bundle.options;
  const auto holds = [&](const char* key, bool is_good) {
    require(is_good, "[vocabulary] ", name, ":1: expected options.bos and options.eos, texts, and options.size, a ",
            "number up to ", kMaxDimension, "; found another ", key);
  };
  holds("options", options.is_object());
  for (const char* key : {"bos", "eos"}) holds(key, options.contains(key) && options[key].is_string());
  holds("size", options.contains("size") && options["size"].is_number_unsigned() && options["size"] <= kMaxDimension);
  TokenizerSettings settings{.bos = options["bos"], .eos = options["eos"], .size = options["size"]};
  if (const auto config = bundle.parts.find(kConfig); config != bundle.parts.end()) {
    constexpr int kDeepest = 20;
    const std::string context = concat("[vocabulary] ", name, ": tokenizer_config: ");
    settings.config = parse_ordered_json(config->second, kDeepest, context, "the part");
    require(settings.config.is_object(), context, "expected an object");
  }
  return settings;
}

std::string first_of(const TokenizerJson& tokenizer, std::initializer_list<const char*> names, bool only_special) {
  for (const char* name : names) {
    for (const AddedToken& token : tokenizer.added)
      if ((token.special || !only_special) && token.content == name) return name;
    if (!only_special && tokenizer.model->find(name) >= 0) return name;
  }
  return "";
}

std::string first_named(std::initializer_list<std::string> names) {
  for (const std::string& name : names)
    if (!name.empty()) return name;
  return "";
}

std::string front(const std::vector<TemplateToken>& tokens) { return tokens.empty() ? "" : tokens.front().content; }

// The tokens that begin and end a text; empty if there are none.
TokenizerEnds ends_of(const TokenizerSettings& settings, const TokenizerJson& tokenizer, const std::string& context) {
  const auto piece = [&](int id) {
    return id >= 0 && size_t(id) < tokenizer.pieces.size() ? tokenizer.pieces[size_t(id)] : "";
  };
  TokenizerEnds ends;
  ends.eos = first_named({settings.eos, find_token_setting(settings.config, "eos_token", context),
                          front(tokenizer.around.after),
                          first_of(tokenizer, {"<|endoftext|>", "<|end_of_text|>", "</s>"}, true)});
  const bool is_usual = !ends.eos.empty();
  if (!is_usual)
    ends.eos = first_named({find_token_setting(settings.config, "sep_token", context), piece(settings.eos_id),
                            first_of(tokenizer,
                                     {"[EOS]", "<eos>", "<EOS>", "<EOT>", "<|eos|>", "<|eot|>", "</s>", "<|endoftext|>",
                                      "<|end_of_text|>", "<｜end▁of▁sentence｜>", "[SEP]", "<|bos|>", "<|im_end|>"},
                                     false)});
  ends.bos = first_named(
      {settings.bos, find_token_setting(settings.config, "bos_token", context), front(tokenizer.around.before)});
  const auto null_bos = settings.config.find("bos_token");
  if (ends.bos.empty() && (null_bos == settings.config.end() || !null_bos->is_null()))
    ends.bos = first_of(tokenizer, {"<|begin_of_text|>", "<s>"}, true);
  if (ends.bos.empty() && !is_usual)
    ends.bos = first_named({find_token_setting(settings.config, "cls_token", context), piece(settings.bos_id),
                            first_of(tokenizer,
                                     {"<|begin_of_text|>", "<s>", "[BOS]", "<bos>", "<BOS>", "<BOT>", "<|bos|>",
                                      "<｜begin▁of▁sentence｜>", "[CLS]"},
                                     false)});
  ends.names_bos = !ends.bos.empty();
  if (ends.bos.empty()) ends.bos = ends.eos;
  return ends;
}

VocabularyBundle bundle_of(const std::string& text, const std::string& bos, const std::string& eos, int size) {
  VocabularyBundle bundle{.kind = kBytesKind};
  bundle.options = {{"bos", bos}, {"eos", eos}, {"size", size}};
  bundle.parts = {{kTokenizer, text}};
  return bundle;
}

bool splits_special(const Json& config, const std::string& context) {
  return find_flag_setting(config, "split_special_tokens", context).value_or(false);
}

// Reads the tokenizer.json, with the added tokens of the settings that it does not have.
TokenizerJson read_with_settings(const std::string& name, const std::string& text, const TokenizerSettings& settings) {
  const std::string context = concat("[vocabulary] ", name, ": ");
  const auto add = prefix_space_setting(settings.config, context);
  const Json named = named_special_tokens(settings.config, context);
  return read_tokenizer_json(name, text,
                             {.add_prefix_space = add,
                              .added = settings.config.value("added_tokens_decoder", Json::object()),
                              .special = special_tokens(settings.config, context),
                              .named = named.size(),
                              .splits_special = splits_special(settings.config, context)});
}

}  // namespace

// The tokenizer that was read and its settings, from which the members and the content of a vocabulary follow.
struct JsonVocabulary::Parts {
  std::string name, text;
  TokenizerSettings settings;
  std::shared_ptr<const TokenizerJson> tokenizer;
  TokenizerEnds ends;
  std::string content, identity;

  Parts(const std::string& file, const std::string& tokenizer_text, TokenizerSettings given)
      : name(file), text(tokenizer_text), settings(std::move(given)) {
    const std::string context = concat("[vocabulary] ", name, ": ");
    tokenizer = std::make_shared<TokenizerJson>(read_with_settings(name, text, settings));
    ends = ends_of(settings, *tokenizer, context);
    if (settings.size == 0) settings.size = int(tokenizer->pieces.size());
    require(size_t(settings.size) >= tokenizer->pieces.size(), context, "expected a model with at least ",
            tokenizer->pieces.size(), " ids, got ", settings.size);
    const TokenizerEnds plain = ends_of({}, *tokenizer, context);
    const bool is_plain =
        ends.bos == plain.bos && ends.eos == plain.eos && size_t(settings.size) == tokenizer->own_pieces;
    VocabularyBundle bundle = bundle_of(text, ends.bos, ends.eos, settings.size);
    identity = is_plain ? text : bundle.serialize();
    // Settings that change ids are part of the identity.
    if (const auto add = prefix_space_setting(settings.config, context)) identity += *add ? "\nprefix" : "";
    if (splits_special(settings.config, context)) identity += "\nsplit";
    for (size_t i = tokenizer->own_added; i < tokenizer->added.size(); ++i)
      identity += "\n" + tokenizer->added[i].content;
    if (!tokenizer->normalizer.is_identity())
      for (const std::string& token : tokenizer->renormalized) identity += "\nnormalized " + token;
    if (is_plain && settings.config.empty()) {
      content = text;
      return;
    }
    if (!ends.names_bos) bundle.options["bos"] = "";  // so that a vocabulary that is read again names none
    if (!settings.config.empty()) {
      bundle.kind = kKind;
      bundle.parts[kConfig] = settings.config.dump(-1, ' ', false, Json::error_handler_t::replace);
    }
    content = bundle.serialize();
  }
};

JsonVocabulary::JsonVocabulary(const std::string& name, const std::string& tokenizer, TokenizerSettings settings)
    : JsonVocabulary(name, Parts(name, tokenizer, std::move(settings))) {}

JsonVocabulary::JsonVocabulary(const std::string& name, const VocabularyBundle& bundle)
    : JsonVocabulary(name, Parts(name, bundle.part(name, kTokenizer), settings_of(name, bundle))) {}

JsonVocabulary::JsonVocabulary(const std::string& name, Parts parts)
    : Vocabulary(std::move(parts.content), parts.identity),
      name_(name),
      text_(std::move(parts.text)),
      settings_(std::move(parts.settings)),
      tokenizer_(std::move(parts.tokenizer)),
      pieces_(tokenizer_->pieces),
      keeps_bytes_(tokenizer_->normalizer.is_identity() && tokenizer_->pre_tokenizer.ends_with_bytes() &&
                   tokenizer_->pre_tokenizer.keeps_bytes() && tokenizer_->model->has_all_bytes()),
      names_bos_(parts.ends.names_bos) {
  settings_.bos = parts.ends.bos;
  settings_.eos = parts.ends.eos;
  pieces_.resize(size_t(settings_.size));
  find_decoded();
  place_added_tokens();
  find_special_ids();
}

void JsonVocabulary::place_added_tokens() {
  std::vector<AddedToken> raw, normalized;
  for (AddedToken token : tokenizer_->added) {
    if (token.normalized) {
      std::string content = tokenizer_->normalizer(token.content);
      require(!content.empty(), "[vocabulary] ", name_,
              ": added_tokens: expected a token that the normalizer does not remove, got ",
              quoted_for_message(token.content));
      token.content = std::move(content);
      decoded_[size_t(token.id)] = token.content;  // the library does the same
    }
    (token.normalized ? normalized : raw).push_back(std::move(token));
  }
  added_ = std::make_shared<AddedTokens>(std::move(raw));
  added_normalized_ = std::make_shared<AddedTokens>(std::move(normalized));
}

void JsonVocabulary::find_special_ids() {
  const std::string context = concat("[vocabulary] ", name_, ": ");
  const auto require_token = [&](const std::string& token) {
    const int32_t id = token.empty() ? -1 : tokenizer_->find(token);
    require(id >= 0 || token.empty(), context, "expected ", quoted_for_message(token),
            ", which begins or ends a text, among added_tokens, found no such token");
    return id;
  };
  special_ = {
      .unk = tokenizer_->model->unk(), .bos = require_token(settings_.bos), .eos = require_token(settings_.eos)};
  const std::string pad =
      first_named({find_token_setting(settings_.config, "pad_token", context), kind() == "wordpiece" ? "[PAD]" : ""});
  special_.pad = pad.empty() ? -1 : tokenizer_->find(pad);
  const auto add_bos = find_flag_setting(settings_.config, "add_bos_token", context),
             add_eos = find_flag_setting(settings_.config, "add_eos_token", context);
  require(!add_bos.value_or(false) || names_bos_, context,
          "add_bos_token is true in tokenizer_config.json: expected a bos_token, found none");
  // A key decides about its own side of a text, and the tokenizer about the other one.
  const auto side = [](std::optional<bool> adds, int32_t id, const std::vector<TemplateToken>& of_template) {
    std::vector<int32_t> ids;
    if (adds.value_or(false) && id >= 0) ids = {id};
    if (!adds)
      for (const TemplateToken& token : of_template) ids.push_back(token.id);
    return ids;
  };
  around_ = {.before = side(add_bos, special_.bos, tokenizer_->around.before),
             .after = side(add_eos, special_.eos, tokenizer_->around.after)};
}

// Replaces the notation of bytes by bytes, if the decoder joins them. Added tokens stand for their content.
void JsonVocabulary::find_decoded() {
  decoded_ = pieces_;
  if (!tokenizer_->decoder.joins_bytes()) return;
  std::vector<bool> is_added(pieces_.size());
  for (const AddedToken& token : tokenizer_->added) is_added[size_t(token.id)] = true;
  for (size_t id = 0; id < pieces_.size(); ++id)
    if (auto bytes = is_added[id] ? std::nullopt : notated_bytes(pieces_[id])) decoded_[id] = std::move(*bytes);
}

std::vector<int32_t> JsonVocabulary::encode(std::string_view line) const {
  std::vector<int32_t> ids;
  ByteBpeMerges::Workspace workspace;
  const auto on_token = [&](int32_t id) { ids.push_back(id); };
  const auto on_word = [&](std::string_view word, bool) { tokenizer_->model->encode(word, ids, workspace); };
  added_->split(
      line,
      [&](std::string_view text, bool begins) {
        const auto on_text = [&](std::string_view part, bool begins_part) {
          tokenizer_->pre_tokenizer.split(part, begins && begins_part, on_word);
        };
        if (tokenizer_->normalizer.is_identity()) return added_normalized_->split(text, on_text, on_token);
        added_normalized_->split(tokenizer_->normalizer(text), on_text, on_token);
      },
      on_token);
  return ids;
}

std::string JsonVocabulary::decode(std::span<const int32_t> ids) const {
  std::vector<std::string> pieces;
  for (const int32_t id : shown(ids)) pieces.push_back(decoded_[size_t(id)]);
  return tokenizer_->decoder(std::move(pieces));
}

std::string JsonVocabulary::piece(int id) const {
  require_id(id);
  return pieces_[size_t(id)];
}

std::string JsonVocabulary::note() const {
  const std::string of_model = tokenizer_->model->note();
  return settings_.note + (settings_.note.empty() || of_model.empty() ? "" : "; ") + of_model;
}

Json JsonVocabulary::tokenizer_config() const {
  if (!settings_.config.empty()) return settings_.config;
  Json config{{"tokenizer_class", "PreTrainedTokenizerFast"}};
  if (names_bos_) config["bos_token"] = settings_.bos;
  if (!settings_.eos.empty()) config["eos_token"] = settings_.eos;
  config["clean_up_tokenization_spaces"] = false;
  return config;
}

}  // namespace gyre
