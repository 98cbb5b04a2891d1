// Learns a subword-nmt vocabulary from text: the merges, and a dictionary of the pieces that they give.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gyre/core/io/file.h"
#include "gyre/data/text/line_report.h"
#include "gyre/data/tokenizer/word_counts.h"

namespace gyre {

// ---- White space in words ------------------------------------------------------------------------------------------
// Words that contain a white space other than U+0020, in which learn_bpe.py of subword-nmt merges differently: it
// searches for the pair in the text of the word, where such a space looks like the end of a symbol.

// Whether the text contains a character for which Python's str.isspace() is true, other than U+0020.
bool contains_space(std::string_view text);

// Returns the symbols after the merge of left and right. Also merges a symbol that ends with white space and `left`, or
// begins with `right` and white space.
std::vector<std::string> merge_in_spaced_word(const std::vector<std::string>& symbols, const std::string& left,
                                              const std::string& right);

// Learns the merges of byte-pair encoding (Sennrich et al. 2016) from counted words, with the same result as
// learn_bpe.py of subword-nmt 0.3.8 (https://github.com/rsennrich/subword-nmt). Returns a codes file of version 0.2: a
// line with the version, then one merge per line. Each merge takes the most frequent pair of symbols; of pairs with
// equal counts, the one with the greatest symbols in the order of code points. Stops after `merges` merges, or if no
// pair occurs `min_frequency` times. Words must be distinct and not empty. Throws an Error if there is no merge.
std::string learn_merges(const CountedWords& words, uint64_t merges, uint64_t min_frequency,
                         const OnMerge& on_merge = {});

struct SubwordNmtTraining {
  uint64_t merges = 10000;      // maximum number of merges
  uint64_t min_frequency = 2;   // rarer pairs are not merged
  uint64_t threshold = 0;       // rarer pieces are split again; 0: no limit
  std::string separator{"@@"};  // follows pieces that do not end a word
  TrainingText text{};
};

// Learns joint merges of all files, like `subword-nmt learn-joint-bpe-and-vocab` with equal files, and writes the
// vocabulary. Its dictionary has the pieces of all files with their counts, most frequent first, ties in the order of
// code points. Writes the plain codes for other programs to codes_output, unless it is empty. Returns one report per
// file. The result does not depend on the number of threads. Throws a UsageError for options out of range.
std::vector<LineReport> train_subword_nmt(TextInputs files, const SubwordNmtTraining& options, const Path& output,
                                          const Path& codes_output);

}  // namespace gyre
