// Makes text from files and command lines safe to print on a terminal and in pictures.
#pragma once

#include <string>
#include <string_view>

namespace gyre {

// Replaces control bytes other than the line end, and bytes that are not UTF-8, by \xNN.
std::string printable(std::string_view text);
// Replaces line ends too, so that a name stays on its line.
std::string printable_line(std::string_view text);
// A message of one or more lines: printable, with every line after the first indented by at least two spaces. A name
// with line ends in it cannot pass for a message of its own.
std::string printable_message(std::string_view text);

}  // namespace gyre
