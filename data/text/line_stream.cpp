#include "gyre/data/text/line_stream.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>

#include "gyre/core/error.h"
#include "gyre/data/text/line_ends.h"

namespace gyre {

namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;

}  // namespace

LineStream::LineStream() : name_("standard input"), stream_(std::cin) {}

LineStream::LineStream(const Path& path) : name_(path.string()), buffer_(kBufferBytes), stream_(file_) {
  require(!std::filesystem::is_directory(path), name_, ": expected a file, got a directory");
  file_.rdbuf()->pubsetbuf(buffer_.data(), std::streamsize(buffer_.size()));
  file_.open(path, std::ios::binary);
  require(file_.is_open(), name_, ": cannot be opened: ", std::strerror(errno));
}

// The buffer of std::cin reports an error of the system as the end of the input.
bool LineStream::has_failed() const { return stream_.bad() || (&stream_ == &std::cin && std::ferror(stdin)); }

bool LineStream::next(std::string& line) {
  if (!std::getline(stream_, line)) {
    require(!has_failed(), name_, ":", line_ + 1, ": reading failed");
    return false;
  }
  if (++line_ == 1) {
    const size_t mark = byte_order_mark_bytes(line);
    has_byte_order_mark_ = mark > 0;
    line.erase(0, mark);
  }
  if (has_carriage_return(line)) {
    ++crlf_lines_;
    line.pop_back();
  }
  return true;
}

}  // namespace gyre
