#include "gyre/data/text/labeled_text.h"
#include "tests/fuzz/target.h"

using namespace gyre;

void read_input(std::string_view input) { TripletText(as_file(input), OnBadLine::skip).describe(); }
