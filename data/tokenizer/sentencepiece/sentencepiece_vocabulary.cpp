#include "gyre/data/tokenizer/sentencepiece/sentencepiece_vocabulary.h"

#include <sentencepiece_processor.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string>
#include <unordered_map>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/core/option_checks.h"
#include "gyre/data/text/utf8.h"
#include "gyre/data/tokenizer/bpe_dropout.h"
#include "gyre/data/tokenizer/tokenizer_config.h"

namespace gyre {
namespace {

// Reads protobuf's wire format. The library does not expose the kind of the model, which is in its trainer settings,
// ModelProto.trainer_spec (field 2) .model_type (field 3), nor the types of pieces and the rules of normalization.
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

// Facts about a model that the library does not tell.
struct ModelFacts {
  std::string kind;
  std::vector<PieceType> types;  // types by id
  SentencePieceRules rules{};
};

// ModelProto.pieces (field 1) .type (field 3), which is missing for normal pieces.
PieceType piece_type(std::string_view piece) {
  uint64_t type = 1, field = 0, number = 0;
  std::string_view bytes;
  for (ProtoReader proto(piece); proto.next(field, number, bytes);) {
    if (field == 3) type = number;
  }
  return type >= 1 && type <= 6 ? PieceType(type) : PieceType::unused;
}

// ModelProto.normalizer_spec (field 3).
void read_rules(std::string_view spec, SentencePieceRules& rules) {
  uint64_t field = 0, number = 0;
  std::string_view bytes;
  for (ProtoReader proto(spec); proto.next(field, number, bytes);) {
    if (field == 2) rules.character_map = bytes;
    if (field == 3) rules.adds_space = number != 0;
    if (field == 4) rules.merges_spaces = number != 0;
    if (field == 5) rules.escapes_spaces = number != 0;
  }
}

ModelFacts model_facts(std::string_view model) {
  constexpr std::string_view kTypes[] = {"unigram", "unigram", "bpe", "word", "char"};
  constexpr uint64_t kSuffix = 24;  // treat_whitespace_as_suffix
  ModelFacts facts;
  uint64_t type = 1, field = 0, number = 0;
  std::string_view bytes;
  for (ProtoReader proto(model); proto.next(field, number, bytes);) {
    if (field == 1) facts.types.push_back(piece_type(bytes));
    if (field == 3) read_rules(bytes, facts.rules);
    if (field != 2) continue;
    for (ProtoReader spec(bytes); spec.next(field, number, bytes);) {
      if (field == 3) type = number;
      if (field == kSuffix) facts.rules.space_is_suffix = number != 0;
    }
  }
  facts.kind = type < std::size(kTypes) ? kTypes[type] : "sentencepiece";
  return facts;
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
  ModelFacts facts = model_facts(model_);
  kind_ = std::move(facts.kind);
  rules_ = std::move(facts.rules);
  size_ = processor_->GetPieceSize();
  types_ = std::move(facts.types);
  types_.resize(size_t(size_), PieceType::unused);
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
  types_.resize(size_t(size), PieceType::unused);
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

std::string with_spaces(std::string text) {
  for (size_t at = 0; (at = text.find(kMarkedSpace, at)) != text.npos; ++at) text.replace(at, kMarkedSpace.size(), " ");
  return text;
}

// ---- BPE dropout for SentencePiece's BPE models --------------------------------------------------------------------
// The library's own sampling draws from a generator with hidden state, and
// drops a merge for the rest of the text instead of for one step.

namespace {

class SentencePieceDropout final : public BpeDropout {
 public:
  explicit SentencePieceDropout(const SentencePieceVocabulary& vocabulary) : characters_(size_t(vocabulary.size())) {
    std::unordered_map<std::string, int32_t> normal;
    std::vector<float> scores;
    for (int id = 0; id < vocabulary.size(); ++id) {
      if (!vocabulary.is_normal(id)) continue;
      normal.emplace(vocabulary.piece(id), id);
      scores.push_back(vocabulary.score(id));
    }
    std::sort(scores.begin(), scores.end(), std::greater<>());
    for (const auto& [piece, id] : normal) {
      const auto better = std::lower_bound(scores.begin(), scores.end(), vocabulary.score(id), std::greater<>());
      add_piece(piece, id, int32_t(better - scores.begin()), normal);
    }
    const auto space = normal.find(std::string(kMarkedSpace));
    if (space != normal.end()) space_ = space->second;
  }

  std::vector<int32_t> segment(std::span<const int32_t> ids, MergeDrops& drops) const override {
    std::vector<int32_t> result;
    std::vector<BpePart> word;
    const auto end_word = [&] {
      if (word.size() > 1)
        merge_with_drops(
            word, [this](int32_t a, int32_t b) { return find(a, b); }, drops);
      for (const BpePart& part : word) result.push_back(part.symbol);
      word.clear();
    };
    for (const int32_t id : ids) {
      if (characters_[size_t(id)].empty()) {
        end_word();
        result.push_back(id);
      }
      for (const int32_t character : characters_[size_t(id)]) {
        if (character == space_ && !has_inner_space_) end_word();
        word.push_back({character});
      }
    }
    end_word();
    return result;
  }

 private:
  static uint64_t key(int32_t left, int32_t right) { return uint64_t(uint32_t(left)) << 32 | uint32_t(right); }

  const BpeMerge* find(int32_t left, int32_t right) const {
    const auto place = merges_.find(key(left, right));
    return place == merges_.end() ? nullptr : &place->second;
  }

  // Adds the merges that make this piece, one for each place where it consists of two pieces.
  void add_piece(const std::string& piece, int32_t id, int32_t rank,
                 const std::unordered_map<std::string, int32_t>& normal) {
    const auto characters = split_characters(piece);
    std::vector<int32_t>& ids = characters_[size_t(id)];
    for (const std::string_view character : characters) {
      const auto place = normal.find(std::string(character));
      if (place == normal.end()) return ids.clear();  // the piece stays whole
      ids.push_back(place->second);
    }
    size_t at = 0;
    for (size_t i = 0; i + 1 < characters.size(); ++i) {
      at += characters[i].size();
      const auto left = normal.find(piece.substr(0, at)), right = normal.find(piece.substr(at));
      if (left != normal.end() && right != normal.end()) merges_[key(left->second, right->second)] = {rank, id};
      has_inner_space_ |= characters[i + 1] == kMarkedSpace;
    }
  }

  std::vector<std::vector<int32_t>> characters_;  // ids of the characters of each piece; empty for a piece that stays
  std::unordered_map<uint64_t, BpeMerge> merges_;
  int32_t space_ = -1;
  bool has_inner_space_ = false;  // whether a piece may continue after a space, so that words are not independent
};

}  // namespace

std::unique_ptr<BpeDropout> SentencePieceVocabulary::bpe_dropout() const {
  if (kind_ != "bpe") return nullptr;
  return std::make_unique<SentencePieceDropout>(*this);
}

}  // namespace gyre
