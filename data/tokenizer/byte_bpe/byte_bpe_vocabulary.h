// Byte-level BPE (Radford et al. 2019) in the format of Hugging Face's tokenizer.json, the tokenizer of GPT-2,
// GPT-NeoX, Llama 3, Qwen and others: regular expressions split a text into words, and merges join the bytes of a word
// to pieces. The ids equal those of Hugging Face's package tokenizers without the tokens of its post-processor. No text
// is unknown.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "gyre/data/tokenizer/byte_bpe/tokenizer_json.h"
#include "gyre/data/tokenizer/vocabulary.h"
#include "gyre/data/tokenizer/vocabulary_bundle.h"

namespace gyre {

// Settings that a tokenizer.json does not have.
struct ByteBpeSettings {
  std::string bos{}, eos{};  // tokens that begin and end a text; empty: chosen by ByteBpeVocabulary
  int size = 0;              // number of ids, if a model has more than there are pieces; 0: that of the pieces
  bool operator==(const ByteBpeSettings&) const = default;
};

// The tokens that tokenizer_config.json in this directory names, if any.
ByteBpeSettings find_byte_bpe_settings(const Path& directory);

class ByteBpeVocabulary final : public Vocabulary {
 public:
  // tokenizer: the content of a tokenizer.json. `name` is the name of the file for messages. Tokens that neither the
  // settings nor the post-processor name: the first of <|endoftext|>, <|end_of_text|> and </s> among the special tokens
  // ends a text, and the first of <|begin_of_text|> and <s> begins it, or else the one that ends it. The content of the
  // vocabulary is the tokenizer.json, with the settings if they change anything, because a saved copy has no other
  // files beside it. Throws an Error for what Gyre does not support, and if no token ends a text.
  ByteBpeVocabulary(const std::string& name, std::string tokenizer, const ByteBpeSettings& settings = {});
  // bundle: a tokenizer.json with settings.
  ByteBpeVocabulary(const std::string& name, const VocabularyBundle& bundle);

  std::string_view kind() const override { return "byte-bpe"; }
  std::vector<int32_t> encode(std::string_view line) const override;
  // Returns the bytes that the pieces stand for, with special tokens other than <s> and </s> as text.
  std::string decode(std::span<const int32_t> ids) const override;
  std::string piece(int id) const override;  // "Ġthe", as Hugging Face writes it; empty for an id without a piece
  int size() const override { return int(pieces_.size()); }
  bool accepts_any_bytes() const override { return keeps_bytes_; }

  const std::string& tokenizer() const { return tokenizer_; }  // the content of tokenizer.json

  // Whether the content may be a tokenizer.json, of any model.
  static bool recognizes(std::string_view content);

 private:
  ByteBpeVocabulary(const std::string& name, std::string tokenizer, const ByteBpeSettings& settings,
                    ByteBpeModel model);
  void find_words(const ByteBpeModel& model);
  int32_t find_token(const std::string& name, const ByteBpeModel& model, const std::string& token) const;
  void encode_text(std::string_view text, std::vector<int32_t>& ids, ByteBpeMerges::Workspace& workspace) const;
  void encode_word(std::string_view word, std::vector<int32_t>& ids, ByteBpeMerges::Workspace& workspace) const;

  std::string tokenizer_;
  std::vector<std::string> pieces_, bytes_;  // by id
  std::array<int32_t, 256> byte_ids_{};
  ByteBpeMerges merges_;
  // Words that are one piece, with their ids: a shortcut, because that holds for most words.
  std::unordered_map<std::string_view, int32_t> words_;
  std::shared_ptr<const PreTokenizer> pre_tokenizer_;
  std::shared_ptr<const AddedTokens> added_, added_normalized_;
  bool nfc_ = false, keeps_bytes_ = true;
};

}  // namespace gyre
