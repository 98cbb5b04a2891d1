// Reads the lines of a file, a pipe or standard input one by one, with little memory for any size of the file.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "gyre/core/io/file.h"

namespace gyre {

// Reads lines as TextFile does, without line ends (LF or CRLF) and without a byte order mark, but does not map the
// file: the pages of a mapped corpus would count as memory of the process.
class LineStream {
 public:
  LineStream();                            // reads standard input
  explicit LineStream(const Path& path);   // throws Error if the file cannot be opened
  LineStream(const LineStream&) = delete;  // refers to its own members
  LineStream& operator=(const LineStream&) = delete;

  bool next(std::string& line);                                      // false at the end; throws Error if reading fails
  uint64_t line() const { return line_; }                            // number of the line that was read last, from 1
  const std::string& name() const { return name_; }                  // for messages: the path, or "standard input"
  bool has_byte_order_mark() const { return has_byte_order_mark_; }  // a byte order mark at the beginning
  uint64_t crlf_lines() const { return crlf_lines_; }                // lines so far that ended in CRLF

 private:
  bool has_failed() const;

  std::string name_;
  std::vector<char> buffer_;
  std::ifstream file_;
  std::istream& stream_;
  uint64_t line_ = 0, crlf_lines_ = 0;
  bool has_byte_order_mark_ = false;
};

}  // namespace gyre
