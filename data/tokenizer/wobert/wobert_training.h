// Trains a vocabulary of Chinese words (wobert_vocabulary.h) from text: characters, frequent words, WordPiece.
#pragma once

#include <vector>

#include "gyre/core/io/file.h"
#include "gyre/data/text/line_report.h"
#include "gyre/data/tokenizer/word_counts.h"
#include "gyre/data/tokenizer/wordpiece/wordpiece_training.h"

namespace gyre {

struct WobertTraining {
  WordPieceMerges merges{.limit_alphabet = 6000};
  bool lower_case = true;  // convert to lower case and remove accents
  TrainingText text{};
};

// Cuts the text into words and writes a vocabulary of BERT's special pieces, the characters, and then whole words and
// merges of WordPiece, the most frequent first. A word that BERT's rules do not split, such as an English one, is
// learned by merges; any other word is taken as a whole. Returns one report per file. The result does not depend on the
// number of threads.
std::vector<LineReport> train_wobert(TextInputs files, const Path& dictionary, const WobertTraining& options,
                                     const Path& output);

}  // namespace gyre
