// Functions that connect decoding with vocabularies and text, for validation and for `gyre translate`.
#pragma once

#include <algorithm>
#include <string>

#include "gyre/data/tokenizer/vocabulary.h"
#include "gyre/models/decode/beam_search.h"

namespace gyre {

// Sets the ids of begin and end of sentence, and the suppressed ids: padding and, unless `allow_unknown`, the unknown
// piece.
inline void set_vocabulary(DecodeOptions& options, const Vocabulary& vocabulary, bool allow_unknown = false) {
  options.bos = vocabulary.bos();
  options.eos = vocabulary.eos();
  options.suppressed.clear();
  if (!allow_unknown) options.suppressed.push_back(vocabulary.unk());
  if (vocabulary.pad() >= 0) options.suppressed.push_back(vocabulary.pad());
}

// Replaces line breaks, which a byte vocabulary may produce, by spaces.
inline std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  std::replace(text.begin(), text.end(), '\r', ' ');
  return text;
}

}  // namespace gyre
