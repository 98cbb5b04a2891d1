// The options that `gyre data tokenize`, `detokenize` and `normalize` share, and their common work.
#pragma once

#include <functional>
#include <string>

#include "gyre/data/text/moses/punctuation.h"
#include "tools/options/cpu_threads.h"

namespace gyre {

using LineTransform = std::function<std::string(const std::string&)>;

struct MosesFilter {
  Path input, output;
  std::string language;
  CpuThreads threads;

  void add_language_row(OptionTable& table);
  void add_rows(OptionTable& table);  // --input, --output, --cpu-threads

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
