// The tokenizers of Hugging Face's package tokenizers as vocabularies, from a tokenizer.json and the settings beside
// it: byte-level BPE (Radford et al. 2019) of GPT-2, GPT-NeoX, Llama 3, Qwen and others, BPE on characters with bytes
// for unknown ones, of Llama 2 and Mistral, WordPiece, and whole words. The ids equal those of the package without the
// tokens of its post-processor.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "gyre/core/io/json.h"
#include "gyre/data/tokenizer/hugging_face/tokenizer_json.h"
#include "gyre/data/tokenizer/vocabulary.h"
#include "gyre/data/tokenizer/vocabulary_bundle.h"

namespace gyre {

// Settings that a tokenizer.json does not have.
struct TokenizerSettings {
  // That of find_tokenizer_config. Names tokens (bos_token, eos_token, pad_token), more added tokens
  // (added_tokens_decoder), the tokens around a text (add_bos_token, add_eos_token) and, for the classes of
  // transformers that apply it, add_prefix_space. What Gyre does not read is kept for an export.
  Json config = Json::object();
  std::string bos{}, eos{};      // tokens that begin and end a text, instead of those that `config` names
  int bos_id = -1, eos_id = -1;  // ids for files that name no token; -1: unknown
  int size = 0;                  // number of ids, if a model has more than there are pieces; 0: that of the pieces
  std::string note{};            // a remark for the user
};

class JsonVocabulary final : public Vocabulary {
 public:
  // tokenizer: the content of a tokenizer.json. `name` is the name of the file for messages. Tokens that neither the
  // settings nor the post-processor name: the first of <|endoftext|>, <|end_of_text|> and </s> among the special tokens
  // ends a text, or else an end under another usual name; the first of <|begin_of_text|> and <s> begins it, or else the
  // one that ends it. Without one that ends a text, the vocabulary has no eos(). The content of the vocabulary is the
  // tokenizer.json, with the settings if there are any, because a saved copy has no other files beside it. Throws an
  // Error for what Gyre does not support.
  JsonVocabulary(const std::string& name, const std::string& tokenizer, TokenizerSettings settings = {});
  // bundle: a tokenizer.json with settings.
  JsonVocabulary(const std::string& name, const VocabularyBundle& bundle);

  std::string_view kind() const override { return tokenizer_->model->kind(); }
  std::vector<int32_t> encode(std::string_view line) const override;
  // Returns the text that the decoder of the file makes of the pieces, with special tokens other than <s>, </s> and
  // padding. The default of byte-level BPE is the bytes that the pieces stand for.
  std::string decode(std::span<const int32_t> ids) const override;
  std::string piece(int id) const override;  // the piece of the file, such as "Ġthe"; empty for an id without a piece
  int size() const override { return int(pieces_.size()); }
  bool accepts_any_bytes() const override { return keeps_bytes_; }
  std::string note() const override;

  // The prefix of pieces that continue a word, of WordPiece; otherwise empty.
  std::string_view continuing_prefix() const {
    return kind() == "wordpiece" ? std::string_view(tokenizer_->model->prefix()) : std::string_view();
  }
  bool names_bos() const { return names_bos_; }  // not the token that ends a text for want of another
  const std::vector<AddedToken>& added_tokens() const { return tokenizer_->added; }
  const std::string& tokenizer() const { return text_; }  // the content of tokenizer.json
  // The content of tokenizer_config.json: that of the settings, if there was one.
  Json tokenizer_config() const;

 private:
  struct Parts;
  JsonVocabulary(const std::string& name, Parts parts);
  void place_added_tokens();
  void find_special_ids();
  void find_decoded();

  std::string name_, text_;
  TokenizerSettings settings_;
  std::shared_ptr<const TokenizerJson> tokenizer_;
  std::shared_ptr<const AddedTokens> added_, added_normalized_;
  // By id. decoded_: what the decoder reads, or if it joins bytes, those that the pieces stand for.
  std::vector<std::string> pieces_, decoded_;
  bool keeps_bytes_ = false, names_bos_ = false;
};

}  // namespace gyre
