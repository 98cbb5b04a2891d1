// Line-by-line text input and output of the commands.
#pragma once

#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "gyre/core/io/file.h"

namespace gyre {

// Reads the lines of a file, or of standard input if the path is empty or "-". They must be UTF-8. Line ends (LF, CRLF)
// are removed; the last line needs none.
class InputLines {
 public:
  explicit InputLines(const Path& path);
  // Returns false at the end. Throws Error with the name of the input and the line number.
  bool next(std::string& line);
  uint64_t line() const { return line_; }            // number of the last line read, from 1
  const std::string& name() const { return name_; }  // for messages: the path, or "standard input"

 private:
  std::ifstream file_;
  std::istream& stream_;
  std::string name_;
  uint64_t line_ = 0;
};

std::vector<std::string> read_lines(const Path& path);

// Writes lines to standard output, a device or a pipe at once, or to a file that appears complete at commit() or not at
// all.
class OutputLines {
 public:
  explicit OutputLines(const Path& path);
  void write(const std::string& line);
  void flush();  // passes the written lines on to the reader
  void commit();

 private:
  std::unique_ptr<AtomicFile> file_;
};

}  // namespace gyre
