// Learns a subword-nmt vocabulary from text: the merges, and a dictionary of the pieces that they give.
#pragma once

#include <string>
#include <vector>

#include "gyre/core/io/file.h"
#include "gyre/data/text/line_report.h"
#include "gyre/data/tokenizer/training_text.h"

namespace gyre {

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
