// Trains a WordPiece vocabulary: counts the words of the text (bert_words) on all threads, then computes the merges.
#pragma once

#include <vector>

#include "gyre/core/io/file.h"
#include "gyre/data/text/line_report.h"
#include "gyre/data/tokenizer/training_text.h"
#include "gyre/data/tokenizer/wordpiece/wordpiece_merges.h"

namespace gyre {

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
