// Builds a token store from text files and a vocabulary.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "gyre/core/io/file.h"
#include "gyre/data/store/token_store.h"
#include "gyre/data/text/line_report.h"
#include "gyre/data/text/text_input.h"
#include "gyre/data/tokenizer/vocabulary.h"

namespace gyre {

struct TextOptions {
  OnBadLine on_bad_line = OnBadLine::by_kind;
  int max_length = 256;  // maximum ids per side, including </s>; a longer line is bad
  bool crop = false;     // truncate longer lines to max_length instead of skipping them
  // Takes the bytes of the files that were read, and all of them, or 0 if their number is unknown.
  std::function<void(uint64_t bytes, uint64_t all)> on_progress{};
};

// Writes a store of one file, or of a source and a target file. The write is atomic. Throws an Error if the policy
// makes a bad line an error, or if no line remains. Encodes with OpenMP threads; their number does not affect the file.
LineReport build_token_store(const Vocabulary& vocabulary, TextInputs files, const Path& output,
                             const TextOptions& options);

struct Corpus {
  TokenStore store;
  std::optional<LineReport> report;  // report on text files; none for a store, which was checked when it was built
};

// Opens the value of --train-sets or --valid-sets: token stores, which must have been built with this vocabulary and
// are one corpus in the given order, or text files, which become a store in memory. `options` applies to text files
// only: a store has no bad lines, and plan_epoch skips its sentences over max_length.
Corpus open_corpus(const Vocabulary& vocabulary, TextInputs files, const TextOptions& options);

}  // namespace gyre
