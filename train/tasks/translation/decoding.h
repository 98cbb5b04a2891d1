// Connects decoding with vocabularies, for validation and for `gyre translate`.
#pragma once

#include "gyre/data/tokenizer/vocabulary.h"
#include "gyre/models/decode/beam_search.h"

namespace gyre {

// Sets the ids of begin and end of sentence, and the suppressed ids: padding and, unless `allow_unknown`, the unknown
// piece.
inline void set_vocabulary(DecodeOptions& options, const Vocabulary& vocabulary, bool allow_unknown = false) {
  options.bos = vocabulary.bos();
  options.eos = vocabulary.eos();
  options.suppressed.clear();
  if (!allow_unknown && vocabulary.unk() >= 0) options.suppressed.push_back(vocabulary.unk());
  if (vocabulary.pad() >= 0) options.suppressed.push_back(vocabulary.pad());
}

}  // namespace gyre
