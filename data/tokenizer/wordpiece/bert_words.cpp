// BERT's basic tokenizer, which splits text into words before WordPiece.
#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include "gyre/core/error.h"
#include "gyre/data/tokenizer/wordpiece/wordpiece_vocabulary.h"

namespace gyre {

namespace {

bool is_space(UChar32 c) { return c == '\t' || c == '\n' || c == '\r' || (U_MASK(u_charType(c)) & U_GC_Z_MASK) != 0; }

// Control, format and private-use characters. BERT keeps private-use characters, but Hugging Face drops them.
bool is_dropped(UChar32 c) {
  constexpr uint32_t kDropped = U_GC_CC_MASK | U_GC_CF_MASK | U_GC_CO_MASK;
  return c == 0xFFFD || (!is_space(c) && (U_MASK(u_charType(c)) & kDropped) != 0);
}

// The blocks of Chinese characters that BERT lists; they exclude kana and hangul.
bool is_chinese(UChar32 c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x20000 && c <= 0x2A6DF) ||
         (c >= 0x2A700 && c <= 0x2B73F) || (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B820 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

// Includes every ASCII character that is not a letter, digit, space or control character, such as "$" and "^".
bool is_punctuation(UChar32 c) {
  if (c < 128) return c > 32 && c < 127 && !u_isalnum(c);
  return (U_MASK(u_charType(c)) & U_GC_P_MASK) != 0;
}

void for_each_character(const icu::UnicodeString& text, auto&& visit) {
  for (int32_t i = 0; i < text.length(); i = text.moveIndex32(i, 1)) visit(text.char32At(i));
}

// Normalizes to NFD, drops non-spacing marks and lower-cases each character by itself, so that a final sigma is treated
// like any other sigma.
icu::UnicodeString fold(const icu::UnicodeString& word) {
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* nfd = icu::Normalizer2::getNFDInstance(status);
  require(U_SUCCESS(status), "[wordpiece] ICU has no NFD: ", u_errorName(status));
  const icu::UnicodeString decomposed = nfd->normalize(word, status);
  require(U_SUCCESS(status), "[wordpiece] ICU cannot normalize: ", u_errorName(status));
  icu::UnicodeString folded;
  for_each_character(decomposed, [&](UChar32 c) {
    if (u_charType(c) != U_NON_SPACING_MARK) folded.append(u_tolower(c));
  });
  return folded;
}

class WordList {
 public:
  void add(UChar32 c) { word_.append(c); }
  void end_word() {
    if (word_.isEmpty()) return;
    word_.toUTF8String(words_.emplace_back());
    word_.remove();
  }
  void add_alone(UChar32 c) {
    end_word();
    add(c);
    end_word();
  }
  std::vector<std::string> take() {
    end_word();
    return std::move(words_);
  }

 private:
  icu::UnicodeString word_;
  std::vector<std::string> words_;
};

}  // namespace

std::vector<std::string> bert_words(std::string_view text, bool lower_case) {
  WordList words;
  icu::UnicodeString token;
  const auto end_token = [&] {
    if (token.isEmpty()) return;
    for_each_character(lower_case ? fold(token) : token, [&](UChar32 c) {
      if (is_punctuation(c)) return words.add_alone(c);
      words.add(c);
    });
    words.end_word();
    token.remove();
  };
  for_each_character(icu::UnicodeString::fromUTF8(icu::StringPiece(text.data(), int32_t(text.size()))), [&](UChar32 c) {
    if (is_dropped(c)) return;
    if (is_space(c)) return end_token();
    if (!is_chinese(c)) {
      token.append(c);
      return;
    }
    end_token();
    token.append(c);
    end_token();
  });
  end_token();
  return words.take();
}

}  // namespace gyre
