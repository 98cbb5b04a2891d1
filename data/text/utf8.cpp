#include "gyre/data/text/utf8.h"

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "gyre/core/error.h"

namespace gyre {
namespace {

// Returns the number of bytes of the valid character at the start of a non-empty text, or 0 if there is none.
size_t character_bytes(std::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? uint8_t(text[i]) : uint8_t{0}; };
  const auto between = [&](size_t i, uint8_t low, uint8_t high) { return byte(i) >= low && byte(i) <= high; };
  const auto continues = [&](size_t i) { return between(i, 0x80, 0xBF); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead < 0xC2) return 0;
  if (lead < 0xE0) return continues(1) ? 2 : 0;
  if (lead < 0xF0) {
    // E0: no overlong forms; ED: no surrogates.
    const bool second = between(1, lead == 0xE0 ? 0xA0 : 0x80, lead == 0xED ? 0x9F : 0xBF);
    return second && continues(2) ? 3 : 0;
  }
  if (lead < 0xF5) {
    // F0: no overlong forms; F4: nothing above U+10FFFF.
    const bool second = between(1, lead == 0xF0 ? 0x90 : 0x80, lead == 0xF4 ? 0x8F : 0xBF);
    return second && continues(2) && continues(3) ? 4 : 0;
  }
  return 0;
}

// Returns the number of bytes, at least 1, at the start of a text without a valid character there that are the
// beginning of one.
size_t cut_off_bytes(std::string_view text) {
  const auto lead = uint8_t(text[0]);
  const size_t bytes = lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
  // Completes each beginning, the longest first, with bytes that are right in all of these places.
  for (size_t kept = std::min(bytes, text.size()); kept > 1; --kept) {
    if (character_bytes(std::string(text.substr(0, kept)) + std::string(bytes + 1 - kept, '\x80')) > 0) return kept;
  }
  return 1;
}

// Like character_bytes, but returns 1 for a byte that does not start a valid character.
size_t step_bytes(std::string_view text) { return std::max<size_t>(character_bytes(text), 1); }

}  // namespace

std::optional<size_t> first_invalid_utf8(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    uint64_t word;
    if (at + sizeof word <= text.size()) {
      std::memcpy(&word, text.data() + at, sizeof word);
      if ((word & 0x8080808080808080) == 0) {  // eight ASCII characters at once
        at += sizeof word;
        continue;
      }
    }
    const size_t bytes = character_bytes(text.substr(at));
    if (bytes == 0) return at;
    at += bytes;
  }
  return std::nullopt;
}

std::string replace_invalid_utf8(std::string text) {
  auto bad = first_invalid_utf8(text);
  if (!bad) return text;
  std::string valid;
  for (std::string_view rest = text; !rest.empty(); bad = first_invalid_utf8(rest)) {
    const size_t end = bad.value_or(rest.size());
    valid += rest.substr(0, end);
    rest.remove_prefix(end);
    if (!bad) break;
    valid += kReplacementCharacter;
    rest.remove_prefix(cut_off_bytes(rest));
  }
  return valid;
}

std::string name_byte(std::string_view text, size_t offset, uint64_t before) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  const auto value = uint8_t(text[offset]);
  return concat("byte ", before + offset + 1, " (0x", kDigits[value >> 4], kDigits[value & 15], ")");
}

std::vector<std::string_view> split_characters(std::string_view text) {
  std::vector<std::string_view> characters;
  for (size_t at = 0; at < text.size(); at += characters.back().size()) {
    characters.push_back(text.substr(at, step_bytes(text.substr(at))));
  }
  return characters;
}

size_t count_characters(std::string_view text) {
  size_t count = 0;
  for (size_t at = 0; at < text.size(); at += step_bytes(text.substr(at))) ++count;
  return count;
}

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

namespace {

void append_escape(std::string& text, char byte) {
  constexpr const char* kDigits = "0123456789abcdef";
  text += {'\\', 'x', kDigits[(byte >> 4) & 0xf], kDigits[byte & 0xf]};
}

// `text` is valid UTF-8. U+0080 to U+009F are control characters, too.
void append_valid(std::string& result, std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    const unsigned char byte = text[i];
    const bool is_wide_control = byte == 0xc2 && static_cast<unsigned char>(text[i + 1]) < 0xa0;
    if (is_wide_control) append_escape(result, text[i++]);
    if (is_wide_control || (byte < 0x20 && byte != '\n') || byte == 0x7f) {
      append_escape(result, text[i]);
    } else {
      result += text[i];
    }
  }
}

}  // namespace

std::string printable(std::string_view text) {
  std::string result;
  while (const auto invalid = first_invalid_utf8(text)) {
    append_valid(result, text.substr(0, *invalid));
    append_escape(result, text[*invalid]);
    text.remove_prefix(*invalid + 1);
  }
  append_valid(result, text);
  return result;
}

std::string printable_line(std::string_view text) {
  std::string result;
  for (const char c : printable(text)) {
    if (c == '\n') {
      append_escape(result, c);
    } else {
      result += c;
    }
  }
  return result;
}

std::string first_names(const std::vector<std::string>& names) {
  constexpr size_t kMost = 10;
  std::string text;
  for (size_t i = 0; i < std::min(kMost, names.size()); ++i)
    text += concat(i == 0 ? "" : ", ", printable_line(names[i]));
  return names.size() > kMost ? concat(text, " and ", names.size() - kMost, " more") : text;
}

std::string printable_message(std::string_view text) {
  constexpr std::string_view kIndent = "  ";
  const std::string lines = printable(text);
  std::string result;
  for (size_t i = 0; i < lines.size(); ++i) {
    result += lines[i];
    const bool begins_line = lines[i] == '\n' && i + 1 < lines.size();
    if (begins_line && lines.compare(i + 1, kIndent.size(), kIndent) != 0) result += kIndent;
  }
  return result;
}

}  // namespace gyre
