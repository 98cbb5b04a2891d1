// Trains a WordPiece vocabulary: counts the words of the text (bert_words) on all threads, then computes the merges.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gyre/core/io/file.h"
#include "gyre/data/text/line_report.h"
#include "gyre/data/tokenizer/word_counts.h"

namespace gyre {

// Computes the pieces of a WordPiece vocabulary from counted words, like Hugging Face's BertWordPieceTokenizer:
// byte-pair merges by frequency (Sennrich et al. 2016) of characters, with "##" before all characters of a word except
// the first. BERT's own trainer was not published; it is said to select merges by likelihood, freq(ab) / (freq(a)
// freq(b)).
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

struct WordPieceTraining {
  WordPieceMerges merges{};
  bool lower_case = true;  // convert to lower case and remove accents
  TrainingText text{};
};

// Writes BERT's vocab.txt and, in the same folder, tokenizer_config.json with do_lower_case. Keeps an existing
// tokenizer_config.json, and throws an Error if its do_lower_case differs. Ignores words over kLongestBertWord
// characters. Returns one report per file. The result does not depend on the number of threads.
std::vector<LineReport> train_wordpiece(TextInputs files, const WordPieceTraining& options, const Path& output);

}  // namespace gyre
