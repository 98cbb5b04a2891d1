// Normalizes punctuation and removes unprintable characters, as the Moses scripts do before tokenization.
#pragma once

#include <string>
#include <string_view>

#include "gyre/data/text/moses/moses_tokenizer.h"

namespace gyre {

struct PunctuationOptions {
  // sacremoses perl_parity: convert quotes exactly as normalize-punctuation.perl does. A right single quote that is not
  // between two letters becomes " instead of ', and « and » with no-break spaces on both sides keep the outer one.
  bool perl_quotes = false;
};

// normalize-punctuation.perl. Equals sacremoses 0.2 (MosesPunctNormalizer.normalize with its default options, which are
// those of the script: pre_replace_unicode_punct and post_remove_control_chars are off). Like sacremoses, and unlike
// the script, it strips white space from both ends of the line, leaves a period before a quote at the end of the line,
// and exchanges no quotes in Italian and Russian.
class PunctuationNormalizer {
 public:
  explicit PunctuationNormalizer(MosesLanguage language, const PunctuationOptions& options = {})
      : language_(language), options_(options) {}

  // Thread-safe. Invalid UTF-8 becomes U+FFFD.
  std::string normalize(std::string_view line) const;

 private:
  MosesLanguage language_;
  PunctuationOptions options_;
};

// remove-non-printing-char.perl: replaces every character of general category C (control, format, private use,
// unassigned) by a space. The categories are those of ICU's version of Unicode; a Perl with another version differs on
// characters that one of them does not know. Invalid UTF-8 becomes U+FFFD.
std::string remove_non_printing(std::string_view line);

}  // namespace gyre
