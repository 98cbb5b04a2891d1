// Validates and splits UTF-8 as defined by Unicode 15, table 3-7: no overlong forms, no surrogates, no code points
// above U+10FFFF.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gyre {

inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";  // U+FFFD

// Returns the offset of the first byte that does not start a valid character, or nullopt if the whole text is valid.
std::optional<size_t> first_invalid_utf8(std::string_view text);

// Describes the byte at an offset for messages, with its position from 1: "byte 7 (0xC3)". `before`: bytes before the
// text, which count in the position.
std::string name_byte(std::string_view text, size_t offset, uint64_t before = 0);

// Returns the text with U+FFFD for each of its bytes that begins no valid character and for each beginning of a
// character that is cut off (Unicode 15, section 3.9, "U+FFFD Substitution of Maximal Subparts", as Python and Rust
// decode).
std::string replace_invalid_utf8(std::string text);

// Splits a text into its characters (code points), or counts them. A byte that does not start a valid character counts
// as one character.
std::vector<std::string_view> split_characters(std::string_view text);
size_t count_characters(std::string_view text);

}  // namespace gyre
