// Trains a WordPiece vocabulary: bert_words of the text, counted by all threads, then the merges of wordpiece_merges.h.
#pragma once

#include <vector>

#include "core/file.h"
#include "data/line_report.h"
#include "data/wordpiece_merges.h"

namespace gyre {

struct WordPieceTraining {
  WordPieceMerges merges{};
  bool lower_case = true;  // and no accents
  OnBadLine on_bad_line = OnBadLine::by_kind;
};

// Writes BERT's vocab.txt and, beside it, tokenizer_config.json with do_lower_case. A tokenizer_config.json that is
// there stays; an Error where it says otherwise. Words over kLongestBertWord characters do not count. A report per
// file. The result does not hang on the number of threads.
std::vector<LineReport> train_wordpiece(const std::vector<Path>& files, const WordPieceTraining& options,
                                        const Path& output);

}  // namespace gyre
