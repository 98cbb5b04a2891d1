// Characters of tokenizer.json: classes of code points, and the notation of bytes as characters.
#pragma once

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gyre {

bool is_white_space(UChar32 c);   // Unicode's White_Space
bool is_bert_control(UChar32 c);  // control, format and private-use characters except tab, line feed and return
bool is_chinese(UChar32 c);       // the blocks of Chinese characters that BERT lists, which exclude kana and hangul
bool is_punctuation(UChar32 c);   // includes ASCII's symbols, such as "$" and "^"
bool is_nonspacing_mark(UChar32 c);
bool is_mark(UChar32 c);
bool is_numeric(UChar32 c);         // a decimal digit, a letter number or another number
bool is_word_character(UChar32 c);  // matched by \w in Rust's regular expressions

void append_character(std::string& text, UChar32 c);
std::string lower_case(std::string_view text);  // lower case of each character by itself

// Calls visit(character, begin, end) for each character, with its bytes. A byte that is not UTF-8 is U+FFFD.
template <class Visit>
void for_each_character(std::string_view text, const Visit& visit) {
  const auto size = int32_t(text.size());
  for (int32_t at = 0; at < size;) {
    const int32_t begin = at;
    UChar32 c = 0;
    U8_NEXT_OR_FFFD(text.data(), at, size, c);
    visit(c, size_t(begin), size_t(at));
  }
}

// Numbers of bytes of the white space that begins or ends a text.
size_t leading_space(std::string_view text);
size_t trailing_space(std::string_view text);

// ---- Bytes as printable characters ---------------------------------------------------------------------------------
// GPT-2's notation of bytes as printable characters (Radford et al. 2019), in which byte-level BPE writes its pieces:
// printable characters of Latin-1 stand for their own number, U+0100 and following for the other bytes. " the" is
// written "Ġthe".

inline constexpr int kByteValues = 256;

// The characters of all bytes, in UTF-8, by byte.
const std::vector<std::string>& byte_characters();

std::string byte_notation(std::string_view bytes);
// The bytes that a piece stands for; nullopt if one of its characters stands for no byte.
std::optional<std::string> notated_bytes(std::string_view piece);

}  // namespace gyre
