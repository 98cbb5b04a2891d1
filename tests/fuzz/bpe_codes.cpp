#include "data/subword_nmt.h"
#include "tests/fuzz/target.h"

// The codes, an empty line, and the text that they cut.
void read_input(std::string_view input) {
  const size_t end = input.find("\n\n");
  const gyre::SubwordNmt codes("input", input.substr(0, end));
  const std::string line(end == std::string_view::npos ? "lower newest" : input.substr(end + 2));
  codes.segment_line(line);
}
