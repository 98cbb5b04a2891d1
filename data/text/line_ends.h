// Lines of text files: a byte order mark at the beginning of a file and the line ends (LF or CRLF) are no part of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "gyre/data/text/utf8.h"

namespace gyre {

inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";  // U+FEFF

// The size of the byte order mark at the beginning of a file: 0 if there is none.
inline size_t byte_order_mark_bytes(std::string_view file) {
  return file.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
}

// Whether a line without its LF ended in CRLF.
inline bool has_carriage_return(std::string_view line) { return line.ends_with('\r'); }

// Removes the first line from the text and returns it in `line`, without its line end. The last line may have no line
// end. Returns false for an empty text.
inline bool take_line(std::string_view& text, std::string_view& line) {
  if (text.empty()) return false;
  const size_t end = text.find('\n');
  line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  if (has_carriage_return(line)) line.remove_suffix(1);
  return true;
}

// The form in which decoded text is written as one line: line breaks become spaces, and bytes that are not UTF-8 become
// U+FFFD. A vocabulary that has pieces for bytes may produce both.
inline std::string one_line(std::string text) {
  text = replace_invalid_utf8(std::move(text));
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return text;
}

}  // namespace gyre
