// Text from files and calls, as a terminal may get it.
#pragma once

#include <string>
#include <string_view>

namespace gyre {

// Control bytes but the line end, and bytes that are not UTF-8, become \xNN.
std::string printable(std::string_view text);

}  // namespace gyre
