#include "gyre/data/tokenizer/byte_vocabulary.h"

#include "gyre/data/tokenizer/vocabulary_bundle.h"

namespace gyre {

namespace {

constexpr int kFirstByte = 3;

}  // namespace

ByteVocabulary::ByteVocabulary() : Vocabulary(VocabularyBundle{.kind = "bytes"}.serialize()) {}

std::vector<int32_t> ByteVocabulary::encode(std::string_view line) const {
  std::vector<int32_t> ids;
  ids.reserve(line.size());
  for (const char c : line) ids.push_back(kFirstByte + uint8_t(c));
  return ids;
}

std::string ByteVocabulary::decode(std::span<const int32_t> ids) const {
  std::string text;
  for (const int32_t id : shown(ids)) {
    text += id == unk() ? std::string("<unk>") : std::string(1, char(id - kFirstByte));
  }
  return text;
}

std::string ByteVocabulary::piece(int id) const {
  require_id(id);
  if (id < kFirstByte) return id == unk() ? "<unk>" : id == bos() ? "<s>" : "</s>";
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  const auto byte = size_t(id - kFirstByte);
  return {'<', '0', 'x', kDigits[byte >> 4], kDigits[byte & 15], '>'};
}

int ByteVocabulary::size() const { return kFirstByte + 256; }

}  // namespace gyre
