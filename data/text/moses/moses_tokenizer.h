// Splits text into the tokens of the Moses tokenizer, and joins such tokens to text again.
//
// Both directions equal sacremoses 0.2 (MosesTokenizer.tokenize, MosesDetokenizer.detokenize) byte by byte.
// tokenizer.perl, which sacremoses ports, differs in these points:
// - It takes its character classes from the Unicode version of Perl. In those of sacremoses, which are older and lack
//   CJK, every Chinese, Japanese or Korean character is a token.
// - Newer versions of it split the period off the last word of a line even after an abbreviation ("at 5 p.m.").
// - It removes U+001C..U+001F, which are white space here, and leaves lines of white space as they are.
#pragma once

#include <string>
#include <string_view>

namespace gyre {

// The languages that the Moses scripts are implemented for.
enum class MosesLanguage { english, german };

// Parses "en" or "de". Throws UsageError for other names.
MosesLanguage parse_moses_language(std::string_view name);

namespace moses {

// always: words such as "Dr", after which a period does not end a sentence. before_number: words such as "No", for
// which that holds if a number follows.
enum class Prefix { none, always, before_number };

Prefix find_prefix(MosesLanguage language, std::u32string_view word);

}  // namespace moses

struct MosesOptions {
  bool escape = true;               // write & | < > ' " [ ] as entities: "&amp;"
  bool aggressive_hyphens = false;  // split "well-known" to "well @-@ known", like tokenizer.perl -a
};

class MosesTokenizer {
 public:
  // Throws UsageError for other languages than "en" and "de".
  explicit MosesTokenizer(std::string_view language, const MosesOptions& options = {});

  // Returns the tokens of a line with one space between two. Only if a line ends with the characters .' does the result
  // end with a space, as it does in Moses. Invalid UTF-8 becomes U+FFFD. Thread-safe.
  std::string tokenize(std::string_view line) const;

 private:
  MosesLanguage language_;
  MosesOptions options_;
};

class MosesDetokenizer {
 public:
  // Throws UsageError for other languages than "en" and "de".
  explicit MosesDetokenizer(std::string_view language);

  // Returns the text of a line of tokens. Entities become characters, and "@-@" a hyphen. Invalid UTF-8 becomes U+FFFD.
  // Thread-safe.
  std::string detokenize(std::string_view line) const;

 private:
  MosesLanguage language_;
};

}  // namespace gyre
