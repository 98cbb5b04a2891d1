#include "data/labelled_text.h"
#include "tests/fuzz/target.h"

using namespace gyre;

void read_input(std::string_view input) {
  const Path& file = as_file(input);
  const LabelledFormat pair{true, {"a", 0}, Column{"b", 1}, Column{"label", -1}, {"no", "yes"}};
  const LabelledFormat score{false, {"", 0}, std::nullopt, Column{"", 1}, {}};
  for (const LabelledFormat& format : {pair, score}) {
    try {
      LabelledText(file, format, OnBadLine::skip).describe();
    } catch (const Error&) {  // NOLINT(bugprone-empty-catch): it was refused
    }
  }
}
