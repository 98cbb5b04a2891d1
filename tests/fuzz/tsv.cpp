#include "gyre/data/text/labeled_text.h"
#include "tests/fuzz/target.h"

using namespace gyre;

void read_input(std::string_view input) {
  const Path& file = as_file(input);
  const LabeledFormat pair{true, {"a", 0}, Column{"b", 1}, Column{"label", -1}, {"no", "yes"}};
  const LabeledFormat score{false, {"", 0}, std::nullopt, Column{"", 1}, {}};
  for (const LabeledFormat& format : {pair, score}) {
    try {
      LabeledText(file, format, OnBadLine::skip).describe();
    } catch (const Error&) {  // NOLINT(bugprone-empty-catch): the input was rejected
    }
  }
}
