#include "gyre/data/tokenizer/subword_nmt/subword_nmt.h"
#include "tests/fuzz/target.h"

// The input is the codes, an empty line and the text to segment.
void read_input(std::string_view input) {
  const size_t end = input.find("\n\n");
  const gyre::SubwordNmt codes("input", input.substr(0, end));
  const std::string_view line = end == std::string_view::npos ? "lower newest" : input.substr(end + 2);
  for (const std::string_view word : gyre::SubwordNmt::words(line)) codes.segment_word(word);
}
