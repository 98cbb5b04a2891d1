// Builds a token store from text files and a vocabulary.
#pragma once

#include <optional>
#include <vector>

#include "gyre/core/io/file.h"
#include "gyre/data/store/token_store.h"
#include "gyre/data/text/line_report.h"
#include "gyre/data/tokenizer/vocabulary.h"

namespace gyre {

struct TextOptions {
  OnBadLine on_bad_line = OnBadLine::by_kind;
  int max_length = 256;  // maximum ids per side, including </s>; a longer line is bad
  bool crop = false;     // truncate longer lines to max_length instead of skipping them
};

// Writes a store of one file, or of a source and a target file. The write is atomic. Throws an Error if the policy
// makes a bad line an error, or if no line remains. Encodes with OpenMP threads; their number does not affect the file.
LineReport build_token_store(const Vocabulary& vocabulary, const std::vector<Path>& files, const Path& output,
                             const TextOptions& options);

struct Corpus {
  TokenStore store;
  std::optional<LineReport> report;  // for text files only, because a store was checked when it was built
};

// Opens the value of --train-sets or --valid-sets: one token store, which must have been built with this vocabulary, or
// text files, which become a store in memory. `options` applies to text files only: a store has no bad lines, and
// plan_epoch skips its sentences over max_length.
Corpus open_corpus(const Vocabulary& vocabulary, const std::vector<Path>& files, const TextOptions& options);

}  // namespace gyre
