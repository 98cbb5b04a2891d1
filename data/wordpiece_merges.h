// The pieces of a WordPiece vocabulary, from counted words: byte-pair merges by frequency (Sennrich et al. 2016) on
// characters, "##" before all but a word's first, as Hugging Face's BertWordPieceTokenizer trains them. BERT's own
// trainer was not published; it is said to choose merges by likelihood, freq(ab) / (freq(a) freq(b)).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace gyre {

struct WordPieceMerges {
  int size = 8000;             // pieces at most, with BERT's five special ones, the alphabet and its continuations
  uint64_t min_frequency = 2;  // rarer pairs are not merged
  int limit_alphabet = 1000;   // characters at most: the most frequent; words with another do not count
};

// words: distinct, sorted, none empty, with their counts. The special pieces, the alphabet and its continuations in the
// order of their code points, then a piece a merge: the most frequent pair, of equals the one of the smaller ids.
// A pure function of its arguments. An Error where the size has no room for the alphabet.
std::vector<std::string> wordpiece_pieces(const std::vector<std::pair<std::string, uint64_t>>& words,
                                          const WordPieceMerges& options);

}  // namespace gyre
