#include "gyre/data/text/line_stream.h"

namespace gyre {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;

}  // namespace

LineStream::LineStream() : owned_(std::make_unique<TextInput>(TextInput::standard())), input_(owned_.get()) {}

LineStream::LineStream(const Path& path) : owned_(std::make_unique<TextInput>(path)), input_(owned_.get()) {}

LineStream::LineStream(TextInput& input) : input_(&input) {}

bool LineStream::fill() {
  if (buffer_.empty()) buffer_.resize(kBufferBytes);
  rest_ = {buffer_.data(), input_->read(buffer_.data(), buffer_.size())};
  return !rest_.empty();
}

bool LineStream::next(std::string& line) {
  line.clear();
  if (rest_.empty() && !fill()) return false;
  while (true) {
    const size_t end = rest_.find('\n');
    line.append(rest_.substr(0, end));
    rest_.remove_prefix(end == rest_.npos ? rest_.size() : end + 1);
    if (end != rest_.npos || !fill()) break;
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
