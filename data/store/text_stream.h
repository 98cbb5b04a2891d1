// Reads a file as one stream of text. Keeps every byte, including line ends, without normalization.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gyre/data/text/text_file.h"
#include "gyre/data/tokenizer/vocabulary.h"

namespace gyre {

// Reads the bytes of a file in chunks. Regular files are memory-mapped, so a large file does not need more memory.
class TextStream {
 public:
  // chunk_bytes: maximum size of a chunk, at least 4.
  TextStream(Path path, size_t chunk_bytes) : file_(std::move(path)), piece_bytes_(chunk_bytes) {}

  // Throws an Error that gives the offset (from 1) of the first byte that is not part of a valid character. The message
  // names the kind of the vocabulary.
  void require_utf8(const Vocabulary& vocabulary) const;
  // Reads the next chunk; returns false at the end. No chunk ends inside a character if the stream is valid UTF-8.
  bool next(std::string_view& piece);
  // Returns the ids of the chunk that was read last. Throws an Error that gives the offset of the first byte that
  // decoding them does not reproduce.
  std::vector<int32_t> encode_exactly(const Vocabulary& vocabulary) const;

  const Path& path() const { return file_.path(); }
  uint64_t bytes() const { return file_.bytes(); }

 private:
  TextFile file_;
  size_t piece_bytes_, begin_ = 0, end_ = 0;  // begin_ and end_: the chunk that was read last
};

}  // namespace gyre
