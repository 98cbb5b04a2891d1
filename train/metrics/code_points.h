// Text as Unicode code points, with Python's str rules: the evaluation metrics must cut and fold text exactly as
// sacreBLEU does.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gyre {

// Invalid UTF-8 becomes U+FFFD, one per maximal bad sequence.
std::u32string code_points(std::string_view utf8);

std::string to_utf8(std::u32string_view text);

// Full, locale-independent case folding of str.lower(): one code point may become two, a final sigma is its own letter.
std::u32string lowercase(std::u32string_view text);

// str.isspace() of one code point: Unicode White_Space plus the separators U+001C..U+001F.
bool is_space(char32_t c);

// str.split(): the non-empty pieces between runs of white space.
std::vector<std::u32string> split_words(std::u32string_view text);

// str.rstrip().
std::u32string_view strip_right(std::u32string_view text);

}  // namespace gyre
