#include "tools/lines.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>

#include "gyre/core/error.h"
#include "gyre/data/text/utf8.h"

namespace gyre {

namespace {

bool is_standard(const Path& path) { return path.empty() || path == "-"; }

// The buffer of std::cin reports an error of the system as the end of the input.
bool has_failed(const std::istream& stream) { return stream.bad() || (&stream == &std::cin && std::ferror(stdin)); }

}  // namespace

InputLines::InputLines(const Path& path)
    : stream_(is_standard(path) ? std::cin : file_), name_(is_standard(path) ? "standard input" : path.string()) {
  if (is_standard(path)) return;
  require(!std::filesystem::is_directory(path), name_, ": expected a file, got a directory");
  file_.open(path, std::ios::binary);
  require(file_.is_open(), name_, ": cannot be opened: ", std::strerror(errno));
}

bool InputLines::next(std::string& line) {
  if (!std::getline(stream_, line)) {
    require(!has_failed(stream_), name_, ":", line_ + 1, ": reading failed");
    return false;
  }
  ++line_;
  if (line.ends_with('\r')) line.pop_back();
  const auto bad = first_invalid_utf8(line);
  require(!bad, name_, ":", line_, ": not UTF-8 from byte ", bad.value_or(0) + 1, " on");
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

void OutputLines::flush() {
  if (file_) return file_->flush();
  require(bool(std::cout.flush()), "standard output: writing failed");
}

void OutputLines::commit() {
  flush();
  if (file_) file_->commit();
}

}  // namespace gyre
