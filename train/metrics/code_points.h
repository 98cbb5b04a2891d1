// Unicode text functions with the rules of Python's str: the metrics must split and lowercase text as sacreBLEU does.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gyre {

// Decodes UTF-8. Every maximal invalid sequence becomes one U+FFFD.
std::u32string code_points(std::string_view utf8);

std::string to_utf8(std::u32string_view text);

// str.lower(): full, locale-independent lowercase mapping. One code point may become two; a final sigma becomes U+03C2.
std::u32string lowercase(std::u32string_view text);

// str.isspace() for one code point: Unicode White_Space and the separators U+001C..U+001F.
bool is_space(char32_t c);

// str.split(): the non-empty words between runs of white space.
std::vector<std::u32string> split_words(std::u32string_view text);

// str.rstrip().
std::u32string_view strip_right(std::u32string_view text);

}  // namespace gyre
