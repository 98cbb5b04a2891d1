#include "gyre/data/text/code_points.h"

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <cstdint>

namespace gyre {

std::u32string code_points(std::string_view utf8) {
  std::u32string text;
  text.reserve(utf8.size());
  const auto* bytes = reinterpret_cast<const uint8_t*>(utf8.data());
  for (size_t i = 0; i < utf8.size();) {
    UChar32 c = bytes[i];
    if (c < 0x80) {
      ++i;
    } else {
      U8_NEXT_OR_FFFD(bytes, i, utf8.size(), c);
    }
    text.push_back(char32_t(c));
  }
  return text;
}

void append_utf8(std::string& utf8, char32_t c) {
  if (c < 0x80) {
    utf8.push_back(char(c));
    return;
  }
  if (U_IS_SURROGATE(c) || c > 0x10FFFF) c = 0xFFFD;
  uint8_t bytes[U8_MAX_LENGTH];
  int32_t size = 0;
  U8_APPEND_UNSAFE(bytes, size, c);
  utf8.append(reinterpret_cast<const char*>(bytes), size_t(size));
}

std::string to_utf8(std::u32string_view text) {
  std::string utf8;
  utf8.reserve(text.size());
  for (const char32_t c : text) append_utf8(utf8, c);
  return utf8;
}

bool is_space(char32_t c) {
  if (c < 0x80) return c == ' ' || (c >= 0x9 && c <= 0xD) || (c >= 0x1C && c <= 0x1F);
  return u_isUWhiteSpace(UChar32(c));
}

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
