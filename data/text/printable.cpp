#include "gyre/data/text/printable.h"

#include "gyre/data/text/utf8.h"

namespace gyre {

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
