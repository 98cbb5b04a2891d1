// Applies a function to every line of a text with all threads, and keeps the order of the lines.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "gyre/core/io/file.h"

namespace gyre {

struct FilterCounts {
  uint64_t lines = 0, bytes = 0;  // of the input; bytes without line ends
};

// Reads the lines of `input`, and writes transform(line) as one line of `output`; empty paths mean standard input and
// output. The output is the same for any number of threads. `transform` must be thread-safe; an Error that it throws is
// thrown again with the name of the input and the line number. Throws Error, likewise, for a result with a line break.
FilterCounts filter_lines(const Path& input, const Path& output,
                          const std::function<std::string(const std::string&)>& transform);

}  // namespace gyre
