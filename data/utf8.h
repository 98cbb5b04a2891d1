// UTF-8 as Unicode 15, table 3-7 has it: no overlong forms, no surrogates, nothing above U+10FFFF.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gyre {

// The offset of the first byte that starts no valid character; nothing when the whole text is valid.
std::optional<size_t> first_invalid_utf8(std::string_view text);

// A byte of a text for messages, counted from 1: "byte 7 (0xC3)".
std::string name_byte(std::string_view text, size_t offset);

// The characters (code points) of a text. A byte that starts no valid character stands alone, here and in their number.
std::vector<std::string_view> split_characters(std::string_view text);
size_t count_characters(std::string_view text);

}  // namespace gyre
