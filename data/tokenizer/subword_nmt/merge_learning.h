// Learns the merges of byte-pair encoding (Sennrich et al. 2016) from counted words, with the same result as
// learn_bpe.py of subword-nmt 0.3.8 (https://github.com/rsennrich/subword-nmt).
#pragma once

#include <cstdint>
#include <string>

#include "gyre/data/tokenizer/training_text.h"
#include "gyre/data/tokenizer/word_counts.h"

namespace gyre {

// Returns a codes file of version 0.2: a line with the version, then one merge per line. Each merge takes the most
// frequent pair of symbols; of pairs with equal counts, the one with the greatest symbols in the order of code points.
// Stops after `merges` merges, or if no pair occurs `min_frequency` times. Words must be distinct and not empty. Throws
// an Error if there is no merge.
std::string learn_merges(const CountedWords& words, uint64_t merges, uint64_t min_frequency,
                         const OnMerge& on_merge = {});

}  // namespace gyre
