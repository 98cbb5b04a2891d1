// Unicode text: validates and splits UTF-8 as defined by Unicode 15, table 3-7 (no overlong forms, no surrogates, no
// code points above U+10FFFF), decodes it to code points, and makes text safe to print.
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

// The next functions follow the rules of Python's str, as other programs for text do.

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

// Text from files and command lines, made safe to print on a terminal and in pictures. Replaces control bytes other
// than the line end, and bytes that are not UTF-8, by \xNN.
std::string printable(std::string_view text);
// Replaces line ends too, so that a name stays on its line.
std::string printable_line(std::string_view text);
// The first ten of some names from a file, printable and separated by commas, and the number of the others.
std::string first_names(const std::vector<std::string>& names);
// A message of one or more lines: printable, with every line after the first indented by at least two spaces. A name
// with line ends in it cannot pass for a message of its own.
std::string printable_message(std::string_view text);

}  // namespace gyre
