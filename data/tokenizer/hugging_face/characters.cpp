#include "gyre/data/tokenizer/hugging_face/characters.h"

#include <cstdint>

#include "gyre/data/text/utf8.h"

namespace gyre {
namespace {

// The category, as a mask, in the tables of unicode_categories, which end at Unicode 8; 0: unassigned there.
uint32_t category_mask(UChar32 c) {
  constexpr uint8_t kLastVersion = 8;
  UVersionInfo age;
  u_charAge(c, age);
  if (age[0] > kLastVersion) return 0;
  switch (c) {  // characters that a later version has put into another category
    case 0x166D:
    case 0x111C9:
      return U_GC_PO_MASK;
    case 0x1734:
      return U_GC_MN_MASK;
    case 0x1885:
    case 0x1886:
      return U_GC_LO_MASK;
    case 0xA9BD:
      return U_GC_MC_MASK;
    default:
      return U_MASK(u_charType(c));
  }
}

bool has_category(UChar32 c, uint32_t mask) { return (category_mask(c) & mask) != 0; }

}  // namespace

bool is_white_space(UChar32 c) { return u_isUWhiteSpace(c) != 0; }

bool is_bert_control(UChar32 c) {
  return c != '\t' && c != '\n' && c != '\r' && has_category(c, U_GC_CC_MASK | U_GC_CF_MASK | U_GC_CO_MASK);
}

// U+2B820 is missing from the list of the package tokenizers, which has U+2B920 there.
bool is_chinese(UChar32 c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x20000 && c <= 0x2A6DF) ||
         (c >= 0x2A700 && c <= 0x2B73F) || (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

bool is_punctuation(UChar32 c) {
  if (c < 128) return c > 32 && c < 127 && !u_isalnum(c);
  return has_category(c, U_GC_P_MASK);
}

bool is_nonspacing_mark(UChar32 c) { return has_category(c, U_GC_MN_MASK); }

bool is_mark(UChar32 c) { return (U_MASK(u_charType(c)) & U_GC_M_MASK) != 0; }

bool is_numeric(UChar32 c) { return (U_MASK(u_charType(c)) & U_GC_N_MASK) != 0; }

bool is_word_character(UChar32 c) {
  return u_isUAlphabetic(c) || (U_MASK(u_charType(c)) & (U_GC_M_MASK | U_GC_ND_MASK | U_GC_PC_MASK)) != 0 ||
         u_hasBinaryProperty(c, UCHAR_JOIN_CONTROL);
}

void append_character(std::string& text, UChar32 c) {
  uint8_t bytes[U8_MAX_LENGTH];
  int32_t size = 0;
  U8_APPEND_UNSAFE(bytes, size, c);
  text.append(reinterpret_cast<const char*>(bytes), size_t(size));
}

std::string lower_case(std::string_view text) {
  constexpr UChar32 kDottedI = 0x130, kDot = 0x307;  // the only character that becomes two
  std::string lowered;
  lowered.reserve(text.size());
  for_each_character(text, [&](UChar32 c, size_t, size_t) {
    append_character(lowered, c == kDottedI ? 'i' : u_tolower(c));
    if (c == kDottedI) append_character(lowered, kDot);
  });
  return lowered;
}

size_t leading_space(std::string_view text) {
  const auto size = int32_t(text.size());
  int32_t begin = 0;
  for (int32_t after = 0; after < size; begin = after) {
    UChar32 c = 0;
    U8_NEXT_OR_FFFD(text.data(), after, size, c);
    if (!is_white_space(c)) break;
  }
  return size_t(begin);
}

size_t trailing_space(std::string_view text) {
  auto end = int32_t(text.size());
  for (int32_t before = end; before > 0; end = before) {
    UChar32 c = 0;
    U8_PREV_OR_FFFD(text.data(), 0, before, c);
    if (!is_white_space(c)) break;
  }
  return text.size() - size_t(end);
}

namespace {

constexpr int kFirstShifted = 0x100;

bool stands_for_itself(int byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

// The byte that each code point stands for; -1: none.
std::vector<int16_t> bytes_by_character() {
  std::vector<int16_t> bytes(2 * kByteValues, -1);
  int shifted = kFirstShifted;
  for (int byte = 0; byte < kByteValues; ++byte)
    bytes[size_t(stands_for_itself(byte) ? byte : shifted++)] = int16_t(byte);
  return bytes;
}

}  // namespace

const std::vector<std::string>& byte_characters() {
  static const std::vector<std::string> characters = [] {
    std::vector<std::string> all(kByteValues);
    const auto bytes = bytes_by_character();
    for (size_t c = 0; c < bytes.size(); ++c)
      if (bytes[c] >= 0) append_utf8(all[size_t(bytes[c])], char32_t(c));
    return all;
  }();
  return characters;
}

std::string byte_notation(std::string_view bytes) {
  std::string piece;
  for (const char byte : bytes) piece += byte_characters()[uint8_t(byte)];
  return piece;
}

std::optional<std::string> notated_bytes(std::string_view piece) {
  static const std::vector<int16_t> bytes = bytes_by_character();
  std::string notated;
  for (const char32_t c : code_points(piece)) {
    if (c >= bytes.size() || bytes[c] < 0) return std::nullopt;
    notated += char(bytes[c]);
  }
  return notated;
}

}  // namespace gyre
