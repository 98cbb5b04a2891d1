// BPE as the model of a tokenizer.json: merges join the bytes or the characters of a word to pieces.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gyre/data/tokenizer/hugging_face/token_model.h"

namespace gyre {

class BpeModel final : public TokenModel {
 public:
  BpeModel(JsonPart& model, bool has_bytes);

  std::string_view kind() const override { return has_bytes_ ? "byte-bpe" : "character-bpe"; }
  void encode(std::string_view word, std::vector<int32_t>& ids, ByteBpeMerges::Workspace& workspace) const override;
  std::string note() const override;
  bool has_all_bytes() const override;

 private:
  // The unknown characters at the end of a word so far, which become one id or several.
  struct Unknown {
    bool is_pending = false;
  };
  void read_merges(JsonPart& model);
  void find_words();
  void check_unk(JsonPart& model);
  void add_symbol(std::string_view symbol, std::vector<int32_t>& symbols, Unknown& unknown) const;
  void add_unknown(std::string_view symbol, std::vector<int32_t>& symbols, Unknown& unknown) const;
  void encode_bytes(std::string_view word, std::vector<int32_t>& symbols) const;
  void encode_characters(std::string_view word, std::vector<int32_t>& symbols) const;

  bool has_bytes_, is_plain_ = true;  // is_plain_: pieces have neither a prefix nor a suffix
  bool ignore_merges_ = false;        // a word that is a piece is never split
  bool fuse_unk_ = false;             // one id for adjacent unknown characters
  std::string suffix_{};              // suffix of pieces that end a word
  std::array<int32_t, 256> byte_ids_{};
  std::optional<std::array<int32_t, 256>> fallback_{};  // ids of "<0x00>" and so on, for unknown characters; -1: none
  std::optional<ByteBpeMerges> merges_{};
  // Words that are one piece, with their ids: a shortcut, because that holds for most words. Keys: bytes or characters.
  Ids words_{};
};

}  // namespace gyre
