#include "gyre/data/text/choice_text.h"
#include "tests/fuzz/target.h"

using namespace gyre;

void read_input(std::string_view input) {
  ChoiceText(as_file(input), ChoiceFormat::by_fields, OnBadLine::skip).describe();
}
