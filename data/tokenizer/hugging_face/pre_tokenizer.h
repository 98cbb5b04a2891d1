// The first two steps of tokenizer.json: its normalizer, and its pre-tokenizer, which cuts text into words.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "gyre/core/io/json.h"
#include "gyre/data/tokenizer/hugging_face/json_part.h"
#include "gyre/data/tokenizer/hugging_face/text_pattern.h"

namespace gyre {

// The normalizers of a tokenizer.json, which change a text before it is split into words, as Hugging Face's package
// tokenizers applies them: BertNormalizer, ByteLevel, Lowercase, NFC, NFD, NFKC, NFKD, Prepend, Replace, Sequence,
// Strip, StripAccents. Characters newer than the library's Unicode tables can differ.
class Normalizer {
 public:
  Normalizer() = default;  // changes nothing
  // Throws an Error that names the field for what Gyre does not support. json: null, or the normalizer.
  Normalizer(const IndexedJson& json, const std::string& context);

  bool is_identity() const { return steps_.empty(); }
  // The text must be UTF-8. Thread-safe.
  std::string operator()(std::string_view text) const;

 private:
  using Step = std::function<std::string(std::string text)>;
  void read(JsonPart& part);
  std::vector<Step> steps_{};
};

// Regular expressions of GPT-2 (encoder.py of openai/gpt-2), of Llama 3 (tokenizer.py of meta-llama/llama3) and of
// Qwen2 (transformers' tokenization_qwen2.py).
extern const char* const kGpt2Words;
extern const char* const kLlama3Words;
extern const char* const kQwen2Words;

// The pre-tokenizers of a tokenizer.json.
class PreTokenizer {
 public:
  // A word and whether it begins at the beginning of the original text.
  using Visit = std::function<void(std::string_view word, bool begins_text)>;

  PreTokenizer() = default;  // leaves a text whole
  // Throws an Error that names the field for what Gyre does not support. json: null, or the pre-tokenizer.
  PreTokenizer(const IndexedJson& json, const std::string& context);

  // Whether ByteLevel is the last part: words are then bytes. A ByteLevel before others writes bytes as characters
  // (characters.h), as the library does.
  bool ends_with_bytes() const { return ends_with_bytes_; }
  // Whether the words have all bytes of a text.
  bool keeps_bytes() const { return keeps_bytes_; }

  // Calls visit for the non-empty words, in order. begins_text: whether the text begins the original text. Thread-safe.
  // Throws an Error if a regular expression needs far more steps than a text of this length should.
  void split(std::string_view text, bool begins_text, const Visit& visit) const;

 private:
  using Step = std::function<void(std::string_view text, bool begins_text, const Visit& visit)>;
  void read(JsonPart& part, bool is_last);
  void read_byte_level(JsonPart& part, bool is_last);
  void read_metaspace(JsonPart& part);
  void split_from(size_t step, std::string_view text, bool begins_text, const Visit& visit) const;

  std::vector<Step> steps_{};
  bool ends_with_bytes_ = false, keeps_bytes_ = true;
};

}  // namespace gyre
