// The models of a tokenizer.json, which divide a word into pieces: BPE (Sennrich et al. 2016) on bytes or on
// characters, WordPiece (Schuster & Nakajima 2012) and WordLevel, with the ids of Hugging Face's package tokenizers.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "gyre/data/tokenizer/hugging_face/json_part.h"
#include "gyre/data/tokenizer/hugging_face/merges.h"
#include "gyre/data/tokenizer/string_hash.h"

namespace gyre {

class TokenModel {
 public:
  using Ids = std::unordered_map<std::string, int32_t, StringHash, std::equal_to<>>;

  virtual ~TokenModel() = default;

  // Reads "model". has_bytes: words are bytes, and the model is BPE on them. Throws an Error that names the field for
  // what Gyre does not support.
  static std::unique_ptr<TokenModel> read(JsonPart model, bool has_bytes);

  virtual std::string_view kind() const = 0;  // "byte-bpe", "character-bpe", "wordpiece", "words"
  // Appends the ids of a word that is not empty. Thread-safe with one `workspace` per thread.
  virtual void encode(std::string_view word, std::vector<int32_t>& ids, ByteBpeMerges::Workspace& workspace) const = 0;
  // A remark for the user about texts that the model cannot write; may be empty.
  virtual std::string note() const { return ""; }

  // Whether every byte has a piece, also bytes that are not UTF-8.
  virtual bool has_all_bytes() const { return false; }

  int32_t find(std::string_view piece) const;                         // -1 if there is no such piece
  const std::vector<std::string>& pieces() const { return pieces_; }  // pieces by id; empty for an id without a piece
  size_t size() const { return ids_.size(); }                         // number of pieces
  int32_t unk() const { return unk_; }                                // -1: none, or nothing is unknown
  const std::string& prefix() const { return prefix_; }               // prefix of pieces that continue a word

 protected:
  void read_pieces(JsonPart& model);
  void read_unk(JsonPart& model, bool is_required);

  std::vector<std::string> pieces_{};
  Ids ids_{};
  int32_t unk_ = -1;
  std::string prefix_{};
};

}  // namespace gyre
