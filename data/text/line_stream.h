// Reads the lines of a file, a pipe or standard input one by one, with little memory for any size of the file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gyre/core/io/file.h"
#include "gyre/data/text/text_input.h"

namespace gyre {

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
