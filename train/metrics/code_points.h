// Lowercases Unicode text with the rules of Python's str: the metrics must change text as sacreBLEU does.
#pragma once

#include <string>
#include <string_view>

#include "gyre/data/text/utf8.h"

namespace gyre {

// str.lower(): full, locale-independent lowercase mapping. One code point may become two; a final sigma becomes U+03C2.
std::u32string lowercase(std::u32string_view text);

}  // namespace gyre
