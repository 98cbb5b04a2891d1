#include "tools/lines.h"

#include <iostream>

#include "gyre/core/error.h"
#include "gyre/data/text/utf8.h"

namespace gyre {

bool is_standard(const Path& path) { return path.empty() || path == "-"; }

InputLines::InputLines(const Path& path) : stream_(is_standard(path) ? LineStream() : LineStream(path)) {}

bool InputLines::next(std::string& line) {
  if (!stream_.next(line)) return false;
  const auto bad = first_invalid_utf8(line);
  require(!bad, name(), ":", this->line(), ": not UTF-8 from byte ", bad.value_or(0) + 1, " on");
  return true;
}

std::vector<std::string> read_lines(const Path& path) {
  InputLines input(path);
  std::vector<std::string> lines;
  for (std::string line; input.next(line);) lines.push_back(line);
  return lines;
}

OutputLines::OutputLines(const Path& path) {
  if (!is_standard(path)) file_ = std::make_unique<AtomicFile>(path);
}

void OutputLines::write(const std::string& line) {
  if (file_) {
    file_->write(line);
    file_->write("\n");
  } else {
    std::cout << line << '\n';
  }
}

void OutputLines::write_part(const std::string& text) {
  if (file_) return file_->write(text);
  std::cout << text;
  flush();
}

void OutputLines::flush() {
  if (file_) return file_->flush();
  require(bool(std::cout.flush()), "standard output: writing failed");
}

void OutputLines::commit() {
  flush();
  if (file_) file_->commit();
}

}  // namespace gyre
