// Reads and writes tokenizer.json, the format of Hugging Face's package tokenizers.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gyre/core/io/json.h"
#include "gyre/data/tokenizer/hugging_face/json_part.h"
#include "gyre/data/tokenizer/hugging_face/pre_tokenizer.h"
#include "gyre/data/tokenizer/hugging_face/token_model.h"

namespace gyre {

// Tokens that are found in a text before it is split into words: special tokens and those of the user.
struct AddedToken {
  std::string content;
  int32_t id = -1;
  bool special = false;
  bool normalized = false;              // sought in the normalized text, after those that are not
  bool lstrip = false, rstrip = false;  // takes the white space before or after it along
  bool stays_text = false;              // is plain text, with split_special_tokens; so are tokens inside it
  bool single_word = false;             // true: matches only where no letter, digit or "_" is next to it
};

// Finds tokens from left to right, the longest one where several begin.
class AddedTokens {
 public:
  explicit AddedTokens(std::vector<AddedToken> tokens);  // the contents of tokens are not empty

  // begins: whether the text between tokens begins at the beginning of the whole text.
  using OnText = std::function<void(std::string_view text, bool begins)>;
  using OnToken = std::function<void(int32_t id)>;
  // Calls on_token for the tokens in the text and on_text for the non-empty texts between them, in order. Thread-safe.
  void split(std::string_view text, const OnText& on_text, const OnToken& on_token) const;

 private:
  const AddedToken* leading(std::string_view text) const;

  std::array<std::vector<AddedToken>, 256> tokens_;  // tokens by their first byte, the longest first
  bool is_empty_;
};

// The decoder of a tokenizer.json, which joins pieces to a text, as Hugging Face's package tokenizers applies it:
// BPEDecoder, ByteFallback, ByteLevel, Fuse, Metaspace, Replace, Sequence, Strip, WordPiece.
class Decoder {
 public:
  // json: null, or the decoder. has_bytes: whether pieces stand for bytes, which is then the default; otherwise pieces
  // are joined with spaces. Throws an Error that names the field for what Gyre does not support.
  Decoder(const IndexedJson& json, const std::string& context, bool has_bytes);

  // Whether a text is the concatenation of the bytes that its pieces stand for.
  bool joins_bytes() const { return steps_.empty(); }
  std::string operator()(std::vector<std::string> pieces) const;

 private:
  using Step = std::function<void(std::vector<std::string>& pieces)>;
  void read(JsonPart& part);
  std::vector<Step> steps_{};
};

// The post-processor of a tokenizer.json, which puts tokens around a text: TemplateProcessing, BertProcessing,
// RobertaProcessing, ByteLevel (none), Sequence.
struct TemplateToken {
  std::string content;
  int32_t id;
};

struct TextTemplate {
  std::vector<TemplateToken> before{}, after{};  // tokens before and after a text
};

// json: null, or the post-processor. Throws an Error that names the field for what Gyre does not support.
TextTemplate read_post_processor(const IndexedJson& json, const std::string& context);

struct TokenizerJson {
  Normalizer normalizer;
  PreTokenizer pre_tokenizer;
  std::unique_ptr<const TokenModel> model;
  std::vector<AddedToken> added;  // added tokens in the order in which a text is searched for them
  // Added tokens that the changes seek in the normalized text instead of the text, or the other way round.
  std::vector<std::string> renormalized;
  TextTemplate around;  // tokens that the post-processor puts around a text
  Decoder decoder;
  std::vector<std::string> pieces;  // pieces of the model and of added tokens, by id; empty for an id without a piece
  size_t own_added = 0, own_pieces = 0;  // counts of the file itself, without changes

  int32_t find(const std::string& piece) const;  // id of an added token or a piece of the model; -1: there is none
};

// Changes that the settings beside a tokenizer.json make.
struct TokenizerChanges {
  std::optional<bool> add_prefix_space{};  // replaces that of ByteLevel
  // tokenizer_config.json's added_tokens_decoder: more added tokens by id, and the flags of those of tokenizer.json,
  // which it replaces.
  IndexedJson added = IndexedJson::object();
  // Special tokens, as texts or as objects. Those that are no piece of the model get the next ids.
  IndexedJson special = IndexedJson::array();
  size_t named = 0;             // the first of `special` have names of their own
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

// Replaces add_prefix_space in the parts of a pre-tokenizer that have it.
void set_prefix_space(IndexedJson& part, bool add);

// Adds special tokens around a text.
Json template_processing(const std::vector<TemplateToken>& before, const std::vector<TemplateToken>& after);
Json byte_level(bool add_prefix_space, bool use_regex);
// Pre-tokenizes into the matches of a regular expression, in the notation of bytes.
Json byte_level_words(const char* regex);

}  // namespace gyre
