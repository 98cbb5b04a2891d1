// Text files and a vocabulary become a token store.
#pragma once

#include <optional>
#include <vector>

#include "core/file.h"
#include "data/line_report.h"
#include "data/token_store.h"
#include "data/vocabulary.h"

namespace gyre {

struct TextOptions {
  OnBadLine on_bad_line = OnBadLine::by_kind;
  int max_length = 256;  // ids a side, with </s>; a longer line is bad
  bool crop = false;     // cut it to max_length instead
};

// One file, or a source and a target file. The store appears under its name whole or not at all; an Error when a bad
// line is one, or no line is left. Encoding uses OpenMP's threads; the bytes do not hang on their number.
LineReport build_token_store(const Vocabulary& vocabulary, const std::vector<Path>& files, const Path& output,
                             const TextOptions& options);

struct Corpus {
  TokenStore store;
  std::optional<LineReport> report;  // of text; a store was checked when it was built
};

// What --train-sets and --valid-sets take: one token store (checked to fit the vocabulary), or text files, which become
// a store in memory. A store holds its own choice of lines: on_bad_line and crop are for text only, and sentences over
// max_length are left out by plan_epoch.
Corpus open_corpus(const Vocabulary& vocabulary, const std::vector<Path>& files, const TextOptions& options);

}  // namespace gyre
