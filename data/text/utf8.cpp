#include "gyre/data/text/utf8.h"

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

}  // namespace gyre
