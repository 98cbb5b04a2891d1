#include "gyre/data/text/text_file.h"

#include <utility>

#include "gyre/data/text/line_ends.h"

namespace gyre {

TextFile::TextFile(Path path) : path_(std::move(path)) {
  TextInput input(path_);
  input.require_documents();
  kind_ = input.kind();
  text_ = input.read_all();
  rewind();
}

void TextFile::rewind() {
  rest_ = std::string_view(text_).substr(byte_order_mark_bytes(text_));
  line_ = 0;
}

bool TextFile::next(std::string_view& line) {
  if (!take_line(rest_, line)) return false;
  ++line_;
  return true;
}

}  // namespace gyre
