// A notation of ids as text, so that people and other programs can see the pieces of a line: pieces separated by
// spaces, on one line.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "gyre/data/tokenizer/vocabulary.h"

namespace gyre {

// Every piece has a unique notation. It is the piece itself, as SentencePiece, subword-nmt and Hugging Face's
// tokenizers print it, except that spaces, control characters and bytes that are not UTF-8 are shown as "<0x20>". A
// piece whose notation already belongs to a piece with a smaller id, and the empty piece, are shown as "<id:7>".
class PieceNotation {
 public:
  explicit PieceNotation(const Vocabulary& vocabulary);
  PieceNotation(const PieceNotation&) = delete;  // the keys of ids_ refer to notations_
  PieceNotation& operator=(const PieceNotation&) = delete;

  std::string write(std::span<const int32_t> ids) const;
  // Throws an Error that names the first unknown piece.
  std::vector<int32_t> read(std::string_view line) const;

 private:
  std::vector<std::string> notations_;                   // notations by id
  std::unordered_map<std::string_view, int32_t> ids_{};  // ids by notation
};

// Ids in decimal, separated by spaces.
std::string write_ids(std::span<const int32_t> ids);
// Throws an Error that names the first word that is not an id below `size`.
std::vector<int32_t> read_ids(std::string_view line, int size);

}  // namespace gyre
