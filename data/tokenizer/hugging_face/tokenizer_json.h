// Reads and writes tokenizer.json, the format of Hugging Face's package tokenizers.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gyre/core/io/json.h"
#include "gyre/data/tokenizer/hugging_face/added_tokens.h"
#include "gyre/data/tokenizer/hugging_face/decoder.h"
#include "gyre/data/tokenizer/hugging_face/normalizer.h"
#include "gyre/data/tokenizer/hugging_face/post_processor.h"
#include "gyre/data/tokenizer/hugging_face/pre_tokenizer.h"
#include "gyre/data/tokenizer/hugging_face/token_model.h"

namespace gyre {

struct TokenizerJson {
  Normalizer normalizer;
  PreTokenizer pre_tokenizer;
  std::unique_ptr<const TokenModel> model;
  std::vector<AddedToken> added;  // tokens in the order in which they are sought
  TextTemplate around;            // texts that the post-processor puts around a text
  Decoder decoder;
  std::vector<std::string> pieces;  // pieces of the model and of added tokens, by id; empty for an id without a piece
  size_t own_added = 0, own_pieces = 0;  // counts of the file itself, without changes

  int32_t find(const std::string& piece) const;  // id of an added token or a piece of the model; -1: there is none
};

// Changes that the settings beside a tokenizer.json make.
struct TokenizerChanges {
  std::optional<bool> add_prefix_space{};  // replaces that of ByteLevel
  // tokenizer_config.json's added_tokens_decoder: more added tokens by id, and the white space that those of
  // tokenizer.json take along.
  nlohmann::json added = nlohmann::json::object();
  // Special tokens, as texts or as objects. Those that are no piece of the model get the next ids.
  nlohmann::json special = nlohmann::json::array();
  bool splits_special = false;  // special tokens in a text are plain text
};

// Reads the content of a tokenizer.json. `name` is the name of the file for messages. Throws an Error that names the
// field for anything that Gyre does not support or know. Settings that do not affect the ids of a text alone are
// ignored: truncation, padding, offsets.
TokenizerJson read_tokenizer_json(const std::string& name, std::string_view content, const TokenizerChanges& changes);

// Whether the content may be a tokenizer.json, of any model.
bool is_tokenizer_json(std::string_view content);

// The parts of a tokenizer.json that Gyre writes; null: absent.
struct TokenizerJsonText {
  std::vector<AddedToken> added{};
  Json normalizer{}, pre_tokenizer{}, post_processor{}, decoder{};
  Json model{};  // fields of a model except vocab and merges
  std::vector<std::string> pieces{};
  Json merges{};  // null for models without merges

  std::string write() const;
};

// Adds special tokens around a text.
Json template_processing(const std::vector<TemplateToken>& before, const std::vector<TemplateToken>& after);
Json byte_level(bool add_prefix_space, bool use_regex);
// Pre-tokenizes into the matches of a regular expression, in the notation of bytes.
Json byte_level_words(const char* regex);

}  // namespace gyre
