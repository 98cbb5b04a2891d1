#include "gyre/data/tokenizer/sentencepiece/sentencepiece_vocabulary.h"

#include <sentencepiece_processor.h>

#include <algorithm>

#include "gyre/core/error.h"

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
  std::vector<bool> is_normal;  // by id
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
    : Vocabulary(std::move(content)), processor_(std::make_unique<sentencepiece::SentencePieceProcessor>()) {
  const auto status = processor_->LoadFromSerializedProto(this->content());
  require(status.ok(), "[vocabulary] ", name, ": expected a SentencePiece model: ", status.ToString());
  ModelTypes types = model_types(this->content());
  kind_ = std::move(types.kind);
  is_normal_ = std::move(types.is_normal);
  is_normal_.resize(size_t(processor_->GetPieceSize()), false);
  special_.unk = processor_->unk_id();
  special_.eos = processor_->eos_id();
  special_.bos = processor_->bos_id() >= 0 ? processor_->bos_id() : special_.eos;
  special_.pad = processor_->pad_id();
  require(special_.eos >= 0, "[vocabulary] ", name, ": the model has no </s> piece");
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
  const auto status = processor_->Decode(shown(ids), &text);
  require(status.ok(), "[vocabulary] SentencePiece: ", status.ToString());
  return text;
}

std::string SentencePieceVocabulary::piece(int id) const {
  require_id(id);
  return processor_->IdToPiece(id);
}

float SentencePieceVocabulary::score(int id) const {
  require_id(id);
  return processor_->GetScore(id);
}

int SentencePieceVocabulary::size() const { return processor_->GetPieceSize(); }

}  // namespace gyre
