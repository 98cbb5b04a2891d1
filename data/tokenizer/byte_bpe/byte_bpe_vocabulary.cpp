#include "gyre/data/tokenizer/byte_bpe/byte_bpe_vocabulary.h"

#include <unicode/normalizer2.h>

#include "gyre/core/error.h"
#include "gyre/core/io/strict_json.h"
#include "gyre/core/sizes.h"
#include "gyre/data/tokenizer/byte_bpe/byte_notation.h"
#include "gyre/data/tokenizer/tokenizer_config.h"

namespace gyre {

namespace {

constexpr const char* kPart = "tokenizer";

ByteBpeSettings settings_of(const std::string& name, const VocabularyBundle& bundle) {
  const auto& options = bundle.options;
  const auto holds = [&](const char* key, bool is_good) {
    require(is_good, "[vocabulary] ", name, ":1: expected options.bos and options.eos, texts, and options.size, a ",
            "number up to ", kMaxDimension, "; found another ", key);
  };
  holds("options", options.is_object());
  for (const char* key : {"bos", "eos"}) holds(key, options.contains(key) && options[key].is_string());
  holds("size", options.contains("size") && options["size"].is_number_unsigned() && options["size"] <= kMaxDimension);
  return {options["bos"], options["eos"], options["size"]};
}

std::string first_special(const ByteBpeModel& model, std::initializer_list<const char*> names) {
  for (const char* name : names)
    for (const AddedToken& token : model.added)
      if (token.special && token.content == name) return name;
  return "";
}

std::string first_named(std::initializer_list<std::string> names) {
  for (const std::string& name : names)
    if (!name.empty()) return name;
  return "";
}

// Fills in the settings that are left to the model; eos stays empty if it names none.
ByteBpeSettings completed(ByteBpeSettings settings, const ByteBpeModel& model) {
  settings.eos =
      first_named({settings.eos, model.eos, first_special(model, {"<|endoftext|>", "<|end_of_text|>", "</s>"})});
  settings.bos =
      first_named({settings.bos, model.bos, first_special(model, {"<|begin_of_text|>", "<s>"}), settings.eos});
  if (settings.size == 0) settings.size = int(model.pieces.size());
  return settings;
}

// The content of a vocabulary: a plain tokenizer.json, unless the settings differ from those of its model.
std::string content_of(const std::string& tokenizer, const ByteBpeSettings& settings, const ByteBpeSettings& plain) {
  if (settings == plain) return tokenizer;
  VocabularyBundle bundle{.kind = "byte-bpe"};
  bundle.options = {{"bos", settings.bos}, {"eos", settings.eos}, {"size", settings.size}};
  bundle.parts = {{kPart, tokenizer}};
  return bundle.serialize();
}

std::vector<AddedToken> chosen(const std::vector<AddedToken>& tokens, bool normalized) {
  std::vector<AddedToken> some;
  for (const AddedToken& token : tokens)
    if (token.normalized == normalized) some.push_back(token);
  return some;
}

std::string to_nfc(std::string_view text) {
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* nfc = icu::Normalizer2::getNFCInstance(status);
  std::string normalized;
  icu::StringByteSink<std::string> sink(&normalized, int32_t(text.size()));
  if (U_SUCCESS(status))
    nfc->normalizeUTF8(0, icu::StringPiece(text.data(), int32_t(text.size())), sink, nullptr, status);
  require(U_SUCCESS(status), "[vocabulary] ICU cannot normalize: ", u_errorName(status));
  return normalized;
}

}  // namespace

ByteBpeSettings find_byte_bpe_settings(const Path& directory) {
  return {find_token_setting(directory, "bos_token"), find_token_setting(directory, "eos_token")};
}

bool ByteBpeVocabulary::recognizes(std::string_view content) {
  const size_t begin = content.find_first_not_of(" \t\r\n");
  return begin != std::string_view::npos && content[begin] == '{' && content.find("\"model\"") != content.npos;
}

ByteBpeVocabulary::ByteBpeVocabulary(const std::string& name, std::string tokenizer, const ByteBpeSettings& settings)
    : ByteBpeVocabulary(name, tokenizer, settings, parse_tokenizer_json(name, tokenizer)) {}

ByteBpeVocabulary::ByteBpeVocabulary(const std::string& name, const VocabularyBundle& bundle)
    : ByteBpeVocabulary(name, bundle.part(name, kPart), settings_of(name, bundle)) {}

ByteBpeVocabulary::ByteBpeVocabulary(const std::string& name, std::string tokenizer, const ByteBpeSettings& settings,
                                     ByteBpeModel model)
    : Vocabulary(content_of(tokenizer, completed(settings, model), completed({}, model))),
      tokenizer_(std::move(tokenizer)),
      merges_(model.merges),
      pre_tokenizer_(
          std::make_shared<PreTokenizer>(concat("[vocabulary] ", name, ": pre_tokenizer: "), model.pre_tokenizer)),
      nfc_(model.nfc),
      keeps_bytes_(!model.nfc && !model.pre_tokenizer.add_prefix_space) {
  const auto [bos, eos, size] = completed(settings, model);
  const std::string context = concat("[vocabulary] ", name, ": ");
  require(size_t(size) >= model.pieces.size(), context, "expected a model with at least ", model.pieces.size(),
          " ids, got ", size);
  bytes_ = model.pieces;
  bytes_.resize(size_t(size));
  find_words(model);
  require(!eos.empty(), context, "expected a special token <|endoftext|>, <|end_of_text|> or </s>, or an eos_token in ",
          "tokenizer_config.json beside the file, found none");
  special_ = {.unk = -1, .bos = find_token(name, model, bos), .eos = find_token(name, model, eos)};
  for (AddedToken& token : model.added)
    if (model.nfc && token.normalized) token.content = to_nfc(token.content);
  added_ = std::make_shared<AddedTokens>(chosen(model.added, false));
  added_normalized_ = std::make_shared<AddedTokens>(chosen(model.added, true));
  pieces_ = std::move(model.pieces);
  pieces_.resize(size_t(size));
}

// Replaces the notation in bytes_ by bytes, and fills the words that are one piece: views of strings in bytes_.
void ByteBpeVocabulary::find_words(const ByteBpeModel& model) {
  std::vector<bool> is_added(model.pieces.size());
  for (const AddedToken& token : model.added) is_added[size_t(token.id)] = true;
  for (size_t id = 0; id < model.pieces.size(); ++id) {
    auto bytes = is_added[id] ? std::nullopt : notated_bytes(bytes_[id]);
    if (bytes) bytes_[id] = std::move(*bytes);
  }
  for (size_t id = 0; id < model.pieces.size(); ++id)
    if (bytes_[id].size() == 1) byte_ids_[uint8_t(bytes_[id].front())] = int32_t(id);
  ByteBpeMerges::Workspace workspace;
  for (size_t id = 0; id < model.pieces.size(); ++id) {
    if (!notated_bytes(model.pieces[id])) continue;
    std::vector<int32_t> ids;
    if (!model.ignore_merges) encode_word(bytes_[id], ids, workspace);
    if (model.ignore_merges || ids == std::vector{int32_t(id)}) words_.emplace(bytes_[id], int32_t(id));
  }
}

int32_t ByteBpeVocabulary::find_token(const std::string& name, const ByteBpeModel& model,
                                      const std::string& token) const {
  for (const AddedToken& added : model.added)
    if (added.content == token) return added.id;
  throw Error("[vocabulary] ", name, ": expected ", quoted_for_message(token),
              ", which begins or ends a text, among added_tokens, found no such token");
}

std::vector<int32_t> ByteBpeVocabulary::encode(std::string_view line) const {
  std::vector<int32_t> ids;
  ByteBpeMerges::Workspace workspace;
  const auto on_token = [&](int32_t id) { ids.push_back(id); };
  const auto on_words = [&](std::string_view text) { encode_text(text, ids, workspace); };
  const auto on_text = [&](std::string_view text) {
    if (!nfc_) return added_normalized_->split(text, on_words, on_token);
    added_normalized_->split(to_nfc(text), on_words, on_token);
  };
  added_->split(line, on_text, on_token);
  return ids;
}

void ByteBpeVocabulary::encode_text(std::string_view text, std::vector<int32_t>& ids,
                                    ByteBpeMerges::Workspace& workspace) const {
  pre_tokenizer_->split(text, [&](std::string_view word) { encode_word(word, ids, workspace); });
}

void ByteBpeVocabulary::encode_word(std::string_view word, std::vector<int32_t>& ids,
                                    ByteBpeMerges::Workspace& workspace) const {
  if (const auto place = words_.find(word); place != words_.end()) return ids.push_back(place->second);
  std::vector<int32_t> pieces;
  pieces.reserve(word.size());
  for (const char byte : word) pieces.push_back(byte_ids_[uint8_t(byte)]);
  merges_.apply(pieces, workspace);
  ids.insert(ids.end(), pieces.begin(), pieces.end());
}

std::string ByteBpeVocabulary::decode(std::span<const int32_t> ids) const {
  std::string text;
  for (const int32_t id : shown(ids)) text += bytes_[size_t(id)];
  return text;
}

std::string ByteBpeVocabulary::piece(int id) const {
  require_id(id);
  return pieces_[size_t(id)];
}

}  // namespace gyre
