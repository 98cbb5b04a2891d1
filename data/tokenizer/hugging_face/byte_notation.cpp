#include "gyre/data/tokenizer/hugging_face/byte_notation.h"

#include <cstdint>

#include "gyre/data/text/code_points.h"

namespace gyre {

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
