// What beam search must know of the vocabulary: the same in validation and in `gyre translate`.
#pragma once

#include "data/vocabulary.h"
#include "models/decode/beam_search.h"

namespace gyre {

// Sets begin and end of sentence, and the ids that no translation holds: padding, and unless allowed the unknown piece.
inline void set_vocabulary(DecodeOptions& options, const Vocabulary& vocabulary, bool allow_unknown = false) {
  options.bos = vocabulary.bos();
  options.eos = vocabulary.eos();
  options.suppressed.clear();
  if (!allow_unknown) options.suppressed.push_back(vocabulary.unk());
  if (vocabulary.pad() >= 0) options.suppressed.push_back(vocabulary.pad());
}

}  // namespace gyre
