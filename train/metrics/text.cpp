#include "gyre/train/metrics/text.h"

#include "gyre/data/text/letter_case.h"
#include "gyre/data/text/utf8.h"

namespace gyre {

std::u32string lowercase(std::u32string_view text) { return code_points(lower_case(to_utf8(text))); }

}  // namespace gyre
