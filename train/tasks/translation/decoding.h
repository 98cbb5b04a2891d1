// Connects decoding with vocabularies, and scores given translations.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "gyre/data/tokenizer/vocabulary.h"
#include "gyre/models/decode/beam_search.h"
#include "gyre/models/decode/translate.h"

namespace gyre {

// Sets the ids of begin and end of sentence, and the suppressed ids: padding and, unless `allow_unknown`, the unknown
// piece.
inline void set_vocabulary(DecodeOptions& options, const Vocabulary& vocabulary, bool allow_unknown = false) {
  options.bos = vocabulary.bos();
  options.eos = vocabulary.eos();
  options.suppressed.clear();
  if (!allow_unknown && vocabulary.unk() >= 0) options.suppressed.push_back(vocabulary.unk());
  if (vocabulary.pad() >= 0) options.suppressed.push_back(vocabulary.pad());
  std::erase(options.suppressed, options.eos);  // a vocabulary from elsewhere may pad with its </s>
}

// Scores given translations, for reranking among others (forced decoding). Returns a hypothesis for each target as a
// translation of the source of the same index, both ids without BOS and EOS, with its log-probability, its score and
// the log-probabilities of its tokens, EOS included. They equal those of beam_search() up to rounding, except that the
// latter counts a probability below 1e-38 as 1e-38 in a mean of probabilities. Of `options`, only the length penalty,
// the precision, bos and eos are used. A limit of tokens counts source and target tokens, EOS included. Calls
// `progress` with the number of pairs done after each batch. Throws Error for different numbers of sources and targets,
// for a sentence that is too long for a table of positions, and for a log-probability that is not finite.
std::vector<Hypothesis> score_targets(const Ensemble& ensemble, Kernels& kernels,
                                      const std::vector<std::vector<int32_t>>& sources,
                                      const std::vector<std::vector<int32_t>>& targets, const DecodeOptions& options,
                                      const DecodingBatchLimits& limits = {},
                                      const std::function<void(size_t done)>& progress = {});

}  // namespace gyre
