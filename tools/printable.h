// Makes text from files and command lines safe to print on a terminal.
#pragma once

#include <string>
#include <string_view>

namespace gyre {

// Replaces control bytes other than the line end, and bytes that are not UTF-8, by \xNN.
std::string printable(std::string_view text);

}  // namespace gyre
