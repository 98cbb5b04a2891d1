// Reads the lines of a text file as views, which stay valid.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "gyre/core/io/mapped_file.h"

namespace gyre {

// Reads the lines of one file, without line ends (LF or CRLF) and without a byte order mark. A regular file is
// memory-mapped; a pipe is read completely into memory. The last line may have no line end. Lines may contain any bytes
// and have any length.
class TextFile {
 public:
  explicit TextFile(Path path);
  TextFile(const TextFile&) = delete;  // the views point into this object
  TextFile& operator=(const TextFile&) = delete;
  bool next(std::string_view& line);  // false at the end; the view is valid as long as this object exists
  uint64_t line() const { return line_; }
  void rewind();
  const Path& path() const { return path_; }
  uint64_t bytes() const { return text_.size(); }
  std::string_view text() const { return text_; }  // the whole file, unchanged

 private:
  Path path_;
  MappedFile map_;
  std::string content_;  // content of a file that cannot be mapped
  std::string_view text_, rest_;
  uint64_t line_ = 0;  // number of the line that was read last, from 1
};

}  // namespace gyre
