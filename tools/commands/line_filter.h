// Commands that apply a function to every line of a text.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gyre/core/io/file.h"
#include "tools/lines.h"
#include "tools/options/computing_options.h"

namespace gyre {

using LineTransform = std::function<std::string(const std::string&)>;

struct FilterCounts {
  uint64_t lines = 0, bytes = 0;  // counts of the input; bytes without line ends
};

struct LineFilter {
  Path input, output;  // empty: standard input and output
  CpuThreads threads;
  BadLineChoice bad_lines{};

  // Adds --input, --output, --on-bad-line and --cpu-threads. The helps say what the files hold: "text, one sentence per
  // line".
  void add_rows(OptionTable& table, const std::string& input_help, const std::string& output_help);

  // Writes transform(line) as one line of the output for each line of the input, in order, with all threads. The output
  // is the same for any number of them. A line that is not UTF-8 becomes a blank line or is an Error. `transform` must
  // be thread-safe; an Error that it throws is thrown again with the name of the input and the line number, and so is
  // one for a result with a line break. Throws UsageError if the output is the input or one of the other files that the
  // command reads.
  FilterCounts run(const LineTransform& transform, std::vector<Path> other_inputs = {}) const;
};

}  // namespace gyre
