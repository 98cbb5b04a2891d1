// Reads the lines of a file, a pipe or standard input one by one, with little memory for any size of the file.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gyre/core/io/file.h"
#include "gyre/data/text/text_input.h"
#include "gyre/data/text/utf8.h"

namespace gyre {

// ---- Lines of text files, without their ends (LF or CRLF) and without a byte order mark ----------------------------

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

// Reads lines as TextFile does, without line ends (LF or CRLF) and without a byte order mark. A line is available as
// soon as it was written into a pipe.
class LineStream {
 public:
  LineStream();                            // reads standard input
  explicit LineStream(const Path& path);   // throws Error if TextInput does
  explicit LineStream(TextInput& input);   // the input must outlive this object
  LineStream(const LineStream&) = delete;  // refers to its own members
  LineStream& operator=(const LineStream&) = delete;

  bool next(std::string& line);                                      // false at the end; throws Error if reading fails
  uint64_t line() const { return line_; }                            // number of the line that was read last, from 1
  const std::string& name() const { return input_->name(); }         // name for messages: the path, or "standard input"
  bool has_byte_order_mark() const { return has_byte_order_mark_; }  // a byte order mark at the beginning
  uint64_t crlf_lines() const { return crlf_lines_; }                // lines so far that ended in CRLF
  const TextInput& input() const { return *input_; }

 private:
  bool fill();

  std::unique_ptr<TextInput> owned_;
  TextInput* input_;
  std::vector<char> buffer_;
  std::string_view rest_;  // bytes of the buffer that have not been returned
  uint64_t line_ = 0, crlf_lines_ = 0;
  bool has_byte_order_mark_ = false;
};

}  // namespace gyre
