// Computes the pieces of a WordPiece vocabulary from counted words, like Hugging Face's BertWordPieceTokenizer:
// byte-pair merges by frequency (Sennrich et al. 2016) of characters, with "##" before all characters of a word except
// the first. BERT's own trainer was not published; it is said to select merges by likelihood,
// freq(ab) / (freq(a) freq(b)).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gyre/data/tokenizer/training_text.h"

namespace gyre {

struct WordPieceMerges {
  int size = 8000;             // maximum pieces, including BERT's five special ones, the alphabet and its continuations
  uint64_t min_frequency = 2;  // rarer pairs are not merged
  int limit_alphabet = 1000;   // maximum characters; keeps the most frequent and ignores words with any other
};

// words: distinct, sorted, non-empty words with their counts. whole: words that become pieces as they are, most
// frequent first.
// Returns the special pieces, then the alphabet and its continuations in the order of their code points, then one piece
// per merge or whole word. Each merge takes the most frequent pair; the pair with the smaller ids wins a tie, and a
// whole word is taken before a pair of its frequency. A pure function of its arguments. Throws an Error if the alphabet
// does not fit into `size`.
std::vector<std::string> wordpiece_pieces(const std::vector<std::pair<std::string, uint64_t>>& words,
                                          const WordPieceMerges& options,
                                          const std::vector<std::pair<std::string, uint64_t>>& whole = {},
                                          const OnMerge& on_merge = {});

}  // namespace gyre
