// Decodes, encodes and splits Unicode text with the rules of Python's str, which other programs for text follow.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gyre {

// Decodes UTF-8. Every maximal invalid sequence becomes one U+FFFD.
std::u32string code_points(std::string_view utf8);

// Encodes as UTF-8. Surrogates and numbers above U+10FFFF become U+FFFD.
void append_utf8(std::string& utf8, char32_t c);
std::string to_utf8(std::u32string_view text);

// str.isspace() for one code point: Unicode White_Space and the separators U+001C..U+001F.
bool is_space(char32_t c);

// str.split(): the non-empty words between runs of white space.
std::vector<std::u32string> split_words(std::u32string_view text);

// str.rstrip().
std::u32string_view strip_right(std::u32string_view text);

}  // namespace gyre
