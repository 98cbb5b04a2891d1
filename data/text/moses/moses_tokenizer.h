// Splits text into the tokens of the Moses tokenizer, and joins such tokens to text again.
//
// Both directions equal sacremoses 0.2 (MosesTokenizer.tokenize, MosesDetokenizer.detokenize) byte by byte.
// tokenizer.perl, which sacremoses ports, differs in these points:
// - It takes its character classes from the Unicode version of Perl. In those of sacremoses, which are older and lack
//   CJK, every Chinese, Japanese or Korean character is a token.
// - Newer versions of it split the period off the last word of a line even after an abbreviation ("at 5 p.m.").
// - It removes U+001C..U+001F, which are white space here, and leaves lines of white space as they are.
//
// The detokenizer differs from sacremoses in one point: in a Czech line that ends with a number and a period,
// sacremoses joins every number to the word before it ("od roku1973."), because its rule for decimal numbers looks at
// the last words of the line. Here numbers keep their spaces. detokenizer.perl joins "1 , 2" to "1,2" and "je - li" to
// "je-li".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "gyre/core/enum_names.h"

namespace gyre {

// The languages that the Moses scripts are implemented for.
enum class MosesLanguage : uint8_t { english, german, french, spanish, italian, czech, russian };

template <>
inline constexpr std::pair<MosesLanguage, std::string_view> kEnumNames<MosesLanguage>[] = {
    {MosesLanguage::english, "en"}, {MosesLanguage::german, "de"},  {MosesLanguage::french, "fr"},
    {MosesLanguage::spanish, "es"}, {MosesLanguage::italian, "it"}, {MosesLanguage::czech, "cs"},
    {MosesLanguage::russian, "ru"}};

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
  explicit MosesTokenizer(MosesLanguage language, const MosesOptions& options = {})
      : language_(language), options_(options) {}

  // Returns the tokens of a line with one space between two. Only if a line ends with the characters .' does the result
  // end with a space, as it does in Moses. Invalid UTF-8 becomes U+FFFD. Thread-safe.
  std::string tokenize(std::string_view line) const;

 private:
  MosesLanguage language_;
  MosesOptions options_;
};

class MosesDetokenizer {
 public:
  explicit MosesDetokenizer(MosesLanguage language) : language_(language) {}

  // Returns the text of a line of tokens. Entities become characters, and "@-@" a hyphen. Invalid UTF-8 becomes U+FFFD.
  // Thread-safe.
  std::string detokenize(std::string_view line) const;

 private:
  MosesLanguage language_;
};

}  // namespace gyre
