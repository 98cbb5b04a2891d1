#include "gyre/data/tokenizer/sentencepiece/sentencepiece_vocabulary.h"

#include <sentencepiece_processor.h>

#include <algorithm>
#include <cstdlib>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/core/sizes.h"
#include "gyre/data/tokenizer/tokenizer_config.h"

namespace gyre {

namespace {

// Reads protobuf's wire format. The library does not expose the kind of the model, which is in its trainer settings,
// ModelProto.trainer_spec (field 2) .model_type (field 3), and the types of pieces.
class ProtoReader {
 public:
  explicit ProtoReader(std::string_view bytes) : rest_(bytes) {}

  // Reads the next field: its number, and its value as a number or as bytes. False at the end and for malformed bytes.
  bool next(uint64_t& field, uint64_t& number, std::string_view& bytes) {
    uint64_t key = 0;
    if (!varint(key)) return false;
    field = key >> 3;
    switch (key & 7) {
      case 0:
        return varint(number);
      case 1:
        return take(8, bytes);
      case 2:
        return varint(number) && take(number, bytes);
      case 5:
        return take(4, bytes);
      default:
        return false;
    }
  }

 private:
  bool varint(uint64_t& value) {
    value = 0;
    for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = uint8_t(rest_.front());
      rest_.remove_prefix(1);
      value |= uint64_t(byte & 127) << shift;
      if (byte < 128) return true;
    }
    return false;
  }
  bool take(uint64_t count, std::string_view& bytes) {
    if (count > rest_.size()) return false;
    bytes = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return true;
  }

  std::string_view rest_;
};

// Type of the model, and of each piece.
struct ModelTypes {
  std::string kind;
  std::vector<bool> is_normal;  // flags by id
};

// ModelProto.pieces (field 1) .type (field 3), which is 1 or missing for normal pieces.
bool is_normal_piece(std::string_view piece) {
  uint64_t type = 1, field = 0, number = 0;
  std::string_view bytes;
  for (ProtoReader proto(piece); proto.next(field, number, bytes);) {
    if (field == 3) type = number;
  }
  return type == 1;
}

ModelTypes model_types(std::string_view model) {
  constexpr std::string_view kTypes[] = {"unigram", "unigram", "bpe", "word", "char"};
  ModelTypes types;
  uint64_t type = 1, field = 0, number = 0;
  std::string_view bytes;
  for (ProtoReader proto(model); proto.next(field, number, bytes);) {
    if (field == 1) types.is_normal.push_back(is_normal_piece(bytes));
    if (field != 2) continue;
    for (ProtoReader spec(bytes); spec.next(field, number, bytes);) {
      if (field == 3) type = number;
    }
  }
  types.kind = type < std::size(kTypes) ? kTypes[type] : "sentencepiece";
  return types;
}

}  // namespace

// A model begins with its first piece (field 1, length-delimited), whose tag is the byte '\n'.
bool SentencePieceVocabulary::recognizes(std::string_view content) { return content.starts_with('\n'); }

SentencePieceVocabulary::SentencePieceVocabulary(const std::string& name, std::string content)
    : SentencePieceVocabulary(name, content, content) {}

SentencePieceVocabulary::SentencePieceVocabulary(const std::string& name, std::string content, std::string model)
    : Vocabulary(std::move(content), model),
      model_(std::move(model)),
      processor_(std::make_unique<sentencepiece::SentencePieceProcessor>()) {
  const auto status = processor_->LoadFromSerializedProto(model_);
  require(status.ok(), "[vocabulary] ", name, ": expected a SentencePiece model: ", status.ToString());
  ModelTypes types = model_types(model_);
  kind_ = std::move(types.kind);
  size_ = processor_->GetPieceSize();
  is_normal_ = std::move(types.is_normal);
  is_normal_.resize(size_t(size_), false);
  special_.unk = processor_->unk_id();
  special_.eos = processor_->eos_id();
  special_.bos = processor_->bos_id() >= 0 ? processor_->bos_id() : special_.eos;
  special_.pad = processor_->pad_id();
  if (special_.bos < 0) around_.emplace();  // nothing begins a text
}

namespace {

constexpr const char *kBundle = "sentencepiece", *kModelPart = "model", *kConfigPart = "tokenizer_config";

Json config_in(const std::string& name, const VocabularyBundle& bundle) {
  constexpr int kDeepest = 20;
  const std::string context = concat("[vocabulary] ", name, ": "), &text = bundle.part(name, kConfigPart);
  auto config = parse_ordered_json(text, kDeepest, context, kConfigPart);
  require(config.is_object(), context, "expected an object as ", kConfigPart);
  return config;
}

int size_in(const std::string& name, const VocabularyBundle& bundle) {
  const auto place = bundle.options.find("size");
  require(place != bundle.options.end() && place->is_number_unsigned() && *place <= kMaxDimension, "[vocabulary] ",
          name, ":1: expected options.size, a number up to ", kMaxDimension);
  return place->get<int>();
}

}  // namespace

SentencePieceVocabulary::SentencePieceVocabulary(const std::string& name, const VocabularyBundle& bundle)
    : SentencePieceVocabulary(name, bundle.serialize(), bundle.part(name, kModelPart)) {
  apply(name, config_in(name, bundle), size_in(name, bundle));
}

std::shared_ptr<const SentencePieceVocabulary> SentencePieceVocabulary::with_settings(const std::string& name,
                                                                                      std::string model,
                                                                                      const Json& config, int size) {
  VocabularyBundle bundle{.kind = kBundle};
  bundle.options = {{"size", uint32_t(size)}};
  bundle.parts = {{kModelPart, std::move(model)},
                  {kConfigPart, config.dump(-1, ' ', false, Json::error_handler_t::replace)}};
  return std::make_shared<SentencePieceVocabulary>(name, bundle);
}

// LlamaTokenizer adds <s> unless the settings say otherwise.
void SentencePieceVocabulary::apply(const std::string& name, const Json& config, int size) {
  const std::string context = concat("[vocabulary] ", name, ": ");
  const auto id_of = [&](const char* key, int otherwise) {
    const std::string token = find_token_setting(config, key, context);
    if (token.empty()) return otherwise;
    const int id = processor_->PieceToId(token);
    const bool is_piece = id != processor_->unk_id() || processor_->IdToPiece(id) == token;
    return is_piece ? id : otherwise;
  };
  require(size >= size_, context, "expected a model with at least ", size_, " ids, got ", size);
  special_.bos = id_of("bos_token", special_.bos);
  special_.eos = id_of("eos_token", special_.eos);
  special_.pad = id_of("pad_token", special_.pad);
  const bool has_bos = special_.bos != special_.eos;
  around_.emplace();
  if (find_flag_setting(config, "add_bos_token", context).value_or(has_bos)) around_->before = {bos()};
  if (find_flag_setting(config, "add_eos_token", context).value_or(false)) around_->after = {eos()};
  config_ = config;
  look_for_added_tokens(config);
  size_ = size;
  is_normal_.resize(size_t(size), false);
}

SentencePieceVocabulary::~SentencePieceVocabulary() = default;

std::vector<int32_t> SentencePieceVocabulary::encode(std::string_view line) const {
  std::vector<int> ids;
  const auto status = processor_->Encode(line, &ids);
  require(status.ok(), "[vocabulary] SentencePiece: ", status.ToString());
  return ids;
}

std::string SentencePieceVocabulary::decode(std::span<const int32_t> ids) const {
  std::string text;
  std::vector<int> pieces = shown(ids);
  std::erase_if(pieces, [this](int id) { return id >= processor_->GetPieceSize(); });  // ids without a piece
  const auto status = processor_->Decode(pieces, &text);
  require(status.ok(), "[vocabulary] SentencePiece: ", status.ToString());
  return text;
}

std::string SentencePieceVocabulary::piece(int id) const {
  require_id(id);
  return id < processor_->GetPieceSize() ? processor_->IdToPiece(id) : "";
}

float SentencePieceVocabulary::score(int id) const {
  require_id(id);
  return id < processor_->GetPieceSize() ? processor_->GetScore(id) : 0;
}

void SentencePieceVocabulary::look_for_added_tokens(const Json& config) {
  const auto added = config.find("added_tokens_decoder");
  if (added == config.end() || !added->is_object()) return;
  for (const auto& [id, token] : added->items())
    if (std::strtoll(id.c_str(), nullptr, 10) >= processor_->GetPieceSize())
      note_ = "the added tokens beside tokenizer.model are not read: in a text, it splits them";
}

Json SentencePieceVocabulary::tokenizer_config() const {
  if (!config_.is_null() && !config_.empty()) return config_;
  const IdsAroundText around = around_text();
  Json config{{"tokenizer_class", "PreTrainedTokenizerFast"}};
  if (names_bos()) config["bos_token"] = piece(special_.bos);
  if (has_ends()) config["eos_token"] = piece(special_.eos);
  config["unk_token"] = piece(special_.unk);
  if (special_.pad >= 0) config["pad_token"] = piece(special_.pad);
  config["add_bos_token"] = !around.before.empty();
  config["add_eos_token"] = !around.after.empty();
  config["clean_up_tokenization_spaces"] = false;
  return config;
}

}  // namespace gyre
