#include "gyre/data/store/text_stream.h"

#include <algorithm>

#include "gyre/core/error.h"
#include "gyre/data/text/utf8.h"

namespace gyre {

namespace {

bool continues_character(char byte) { return (uint8_t(byte) & 0xC0) == 0x80; }

// Moves the end of a chunk back so that it does not split a character. Invalid characters may be split.
size_t end_of_character(std::string_view text, size_t end) {
  constexpr size_t kMaxContinued = 3;
  size_t cut = end;
  while (cut < text.size() && end - cut < kMaxContinued && continues_character(text[cut])) --cut;
  return cut;
}

}  // namespace

void TextStream::require_utf8(const Vocabulary& vocabulary) const {
  if (const auto at = first_invalid_utf8(file_.text())) {
    throw Error("[data] ", path().string(), ": ", name_byte(file_.text(), *at),
                ": expected valid UTF-8 for this vocabulary (", vocabulary.kind(),
                "); gyre vocab --type bytes accepts any bytes");
  }
}

bool TextStream::next(std::string_view& piece) {
  const std::string_view text = file_.text();
  begin_ = end_;
  end_ = end_of_character(text, std::min(begin_ + piece_bytes_, text.size()));
  piece = text.substr(begin_, end_ - begin_);
  return !piece.empty();
}

std::vector<int32_t> TextStream::encode_exactly(const Vocabulary& vocabulary) const {
  const std::string_view piece = file_.text().substr(begin_, end_ - begin_);
  std::vector<int32_t> ids = vocabulary.encode(piece);
  const std::string decoded = vocabulary.decode(ids);
  if (decoded == piece) return ids;
  const auto differs = std::mismatch(piece.begin(), piece.end(), decoded.begin(), decoded.end()).first;
  const size_t at = std::min(begin_ + size_t(differs - piece.begin()), file_.text().size() - 1);
  throw Error("[data] ", path().string(), ": ", name_byte(file_.text(), at),
              ": expected a vocabulary that keeps every byte, as gyre vocab --type bytes does, got one (",
              vocabulary.kind(), ") that loses it");
}

}  // namespace gyre
