// A vocabulary of bytes: the id of byte b is 3 + b, after <unk>, <s> and </s>. No text is unknown.
#pragma once

#include "gyre/data/tokenizer/vocabulary.h"

namespace gyre {

class ByteVocabulary final : public Vocabulary {
 public:
  ByteVocabulary();
  std::string_view kind() const override { return "bytes"; }
  std::vector<int32_t> encode(std::string_view line) const override;
  std::string decode(std::span<const int32_t> ids) const override;
  std::string piece(int id) const override;  // "<0x41>"
  int size() const override;
  bool accepts_any_bytes() const override { return true; }
};

}  // namespace gyre
