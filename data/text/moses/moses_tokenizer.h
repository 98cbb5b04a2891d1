// Splits text into the tokens of the Moses tokenizer, and joins such tokens to text again.
//
// Both directions equal sacremoses 0.2 (MosesTokenizer.tokenize, MosesDetokenizer.detokenize) on every line, including
// its character classes, which lack CJK.
#pragma once

#include <string>
#include <string_view>

namespace gyre {

enum class MosesLanguage { english, german };

// Throws UsageError for other languages than "en" and "de".
MosesLanguage parse_moses_language(std::string_view name);

struct MosesOptions {
  bool escape = true;               // writes & | < > ' " [ ] as entities: "&amp;"
  bool aggressive_hyphens = false;  // splits "well-known" to "well @-@ known"; tokenizer.perl -a
};

class MosesTokenizer {
 public:
  // Throws UsageError for other languages than "en" and "de".
  explicit MosesTokenizer(std::string_view language, const MosesOptions& options = {});

  // Returns the tokens of a line with one space between two. Thread-safe. A byte that is not part of a valid character
  // is treated as the replacement character U+FFFD.
  std::string tokenize(std::string_view line) const;

 private:
  MosesLanguage language_;
  MosesOptions options_;
};

class MosesDetokenizer {
 public:
  // Throws UsageError for other languages than "en" and "de".
  explicit MosesDetokenizer(std::string_view language);

  // Returns the text of a line of tokens, without entities and "@-@". Thread-safe.
  std::string detokenize(std::string_view line) const;

 private:
  MosesLanguage language_;
};

}  // namespace gyre
