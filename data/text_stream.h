// A file as one stream of text: every byte of it counts, line ends too, and nothing is normalised or left out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "data/parallel_text.h"
#include "data/vocabulary.h"

namespace gyre {

// The bytes of a file, a piece after another. A regular file is memory-mapped, so that its size costs no memory.
class TextStream {
 public:
  // piece_bytes: the most in a piece, at least 4.
  TextStream(Path path, size_t piece_bytes) : file_(std::move(path)), piece_bytes_(piece_bytes) {}

  // An Error with the offset of the first byte, counted from 1, that is no part of a valid character.
  void require_utf8(const Vocabulary& vocabulary) const;
  // False at the end. No piece ends within a character, if the stream is valid UTF-8.
  bool next(std::string_view& piece);
  // The ids of the piece that was read last. An Error with the offset of the first byte that they do not give back.
  std::vector<int32_t> encode_exactly(const Vocabulary& vocabulary) const;

  const Path& path() const { return file_.path(); }
  uint64_t bytes() const { return file_.bytes(); }

 private:
  TextFile file_;
  size_t piece_bytes_, begin_ = 0, end_ = 0;  // of the piece that was read last
};

}  // namespace gyre
