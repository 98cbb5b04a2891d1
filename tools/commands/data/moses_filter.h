// The options that `gyre data tokenize`, `detokenize` and `normalize` share, and their common work.
#pragma once

#include <string>

#include "gyre/data/text/moses/punctuation.h"
#include "tools/commands/line_filter.h"

namespace gyre {

struct MosesFilter {
  std::string language;
  LineFilter lines;

  void add_language_row(OptionTable& table);
  void add_rows(OptionTable& table);  // rows of LineFilter

  // Writes the transformed lines of the input to the output, and the speed to standard error.
  void run(const LineTransform& transform) const;
};

struct NormalizationOptions {
  PunctuationOptions punctuation;
  bool removes_non_printing = false;

  void add_rows(OptionTable& table);

  // Returns the normalization of one line: punctuation, if asked for, then unprintable characters.
  LineTransform transform(const std::string& language, bool normalizes_punctuation) const;
};

}  // namespace gyre
