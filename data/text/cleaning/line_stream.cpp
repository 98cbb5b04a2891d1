#include "gyre/data/text/cleaning/line_stream.h"

#include <cerrno>
#include <cstring>

#include "gyre/core/error.h"

namespace gyre {

namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr size_t kBufferBytes = size_t{1} << 20;

}  // namespace

LineStream::LineStream(Path path) : path_(std::move(path)), buffer_(kBufferBytes) {
  require(!std::filesystem::is_directory(path_), path_.string(), ": expected a file, got a directory");
  stream_.rdbuf()->pubsetbuf(buffer_.data(), std::streamsize(buffer_.size()));
  stream_.open(path_, std::ios::binary);
  require(stream_.is_open(), path_.string(), ": cannot be opened: ", std::strerror(errno));
}

bool LineStream::next(std::string& line) {
  if (!std::getline(stream_, line)) {
    require(!stream_.bad(), path_.string(), ":", line_ + 1, ": reading failed");
    return false;
  }
  if (++line_ == 1 && line.starts_with(kByteOrderMark)) {
    has_mark_ = true;
    line.erase(0, kByteOrderMark.size());
  }
  if (line.ends_with('\r')) {
    ++crlf_lines_;
    line.pop_back();
  }
  return true;
}

}  // namespace gyre
