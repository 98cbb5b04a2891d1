// The patterns of normalizers and pre-tokenizers: regular expressions, texts, and classes of characters.
#pragma once

#include <unicode/regex.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gyre/data/tokenizer/hugging_face/json_part.h"

namespace gyre {

// A part of a text, in bytes, that a pattern matches or that lies between two matches.
struct TextSpan {
  size_t begin, end;
  bool is_match;
};

class TextPattern {
 public:
  // Reads {"Regex": ...} or {"String": ...}, the field `key` of a part. The syntax of a regular expression is that of
  // Oniguruma, as far as ICU reads it the same way. Throws an Error that names the field for any other.
  static TextPattern read(JsonPart& part, const std::string& key);
  // name: of the field, for messages.
  static TextPattern regex(const std::string& expression, const std::string& name);
  static TextPattern literal(const std::string& text);       // not empty
  static TextPattern characters(bool (*is_match)(UChar32));  // matches single characters

  // Divides a text into matches and the texts between them, in order. Empty matches are left out. Bytes that are not
  // UTF-8 look like U+FFFD to the pattern. Thread-safe. Throws an Error if a regular expression needs far more steps
  // than a text of this length should.
  std::vector<TextSpan> spans(std::string_view text) const;
  // The text with `by` in place of every match.
  std::string replace(std::string_view text, std::string_view by) const;

 private:
  std::shared_ptr<const icu::RegexPattern> regex_;  // null: the other two
  std::string literal_;
  bool (*is_match_)(UChar32) = nullptr;
};

}  // namespace gyre
