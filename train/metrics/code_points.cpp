#include "gyre/train/metrics/code_points.h"

#include <unicode/locid.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

namespace gyre {
namespace {

std::u32string to_u32(const icu::UnicodeString& text) {
  std::u32string result(size_t(text.countChar32()), U'\0');
  UErrorCode status = U_ZERO_ERROR;
  text.toUTF32(reinterpret_cast<UChar32*>(result.data()), int32_t(result.size()), status);
  return result;
}

icu::UnicodeString to_icu(std::u32string_view text) {
  return icu::UnicodeString::fromUTF32(reinterpret_cast<const UChar32*>(text.data()), int32_t(text.size()));
}

}  // namespace

std::u32string code_points(std::string_view utf8) {
  return to_u32(icu::UnicodeString::fromUTF8(icu::StringPiece(utf8.data(), int32_t(utf8.size()))));
}

std::string to_utf8(std::u32string_view text) {
  std::string result;
  to_icu(text).toUTF8String(result);
  return result;
}

std::u32string lowercase(std::u32string_view text) { return to_u32(to_icu(text).toLower(icu::Locale::getRoot())); }

bool is_space(char32_t c) { return u_isUWhiteSpace(UChar32(c)) || (c >= 0x1C && c <= 0x1F); }

std::vector<std::u32string> split_words(std::u32string_view text) {
  std::vector<std::u32string> words;
  size_t begin = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && !is_space(text[i])) continue;
    if (i > begin) words.emplace_back(text.substr(begin, i - begin));
    begin = i + 1;
  }
  return words;
}

std::u32string_view strip_right(std::u32string_view text) {
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace gyre
