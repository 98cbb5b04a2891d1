// Text that comes into the program and leaves it, a line at a time.
#pragma once

#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "core/file.h"

namespace gyre {

// Lines of a file, or of standard input when the path is empty or "-". They must be UTF-8; line ends (LF, CRLF) are
// taken off, and a last line without one counts.
class InputLines {
 public:
  explicit InputLines(const Path& path);
  // False at the end. Throws, naming place and line.
  bool next(std::string& line);
  uint64_t line() const { return line_; }            // number of the last one, from 1
  const std::string& name() const { return name_; }  // for messages: the path, or "standard input"

 private:
  std::ifstream file_;
  std::istream& stream_;
  std::string name_;
  uint64_t line_ = 0;
};

std::vector<std::string> read_lines(const Path& path);

// Lines to standard output, a device or a pipe as they come, or to a file that appears at commit(), whole or not at
// all.
class OutputLines {
 public:
  explicit OutputLines(const Path& path);
  void write(const std::string& line);
  void flush();  // what was written is on its way to the reader
  void commit();

 private:
  std::unique_ptr<AtomicFile> file_;
};

}  // namespace gyre
