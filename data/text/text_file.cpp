#include "gyre/data/text/text_file.h"

#include <filesystem>

#include "gyre/data/text/line_ends.h"

namespace gyre {

TextFile::TextFile(Path path) : path_(std::move(path)) {
  if (std::filesystem::is_regular_file(path_)) {
    map_ = MappedFile(path_);
    text_ = map_.text();
  } else {
    content_ = read_file(path_);
    text_ = content_;
  }
  rewind();
}

void TextFile::rewind() {
  rest_ = text_.substr(byte_order_mark_bytes(text_));
  line_ = 0;
}

bool TextFile::next(std::string_view& line) {
  if (!take_line(rest_, line)) return false;
  ++line_;
  return true;
}

}  // namespace gyre
