// Reads the lines of a text file as views, which stay valid.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "gyre/data/text/text_input.h"

namespace gyre {

// Reads one input into memory, decompressed, and returns its lines without line ends (LF or CRLF) and without a byte
// order mark. The last line may have no line end. Lines may contain any bytes and have any length. For texts that are
// used as a whole; LineStream reads corpora.
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
  TextKind kind() const { return kind_; }

 private:
  Path path_;
  TextKind kind_ = TextKind::text;
  std::string text_;
  std::string_view rest_;
  uint64_t line_ = 0;  // number of the line that was read last, from 1
};

}  // namespace gyre
