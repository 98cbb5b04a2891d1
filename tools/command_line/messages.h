// Messages of commands to the user, on standard error.
#pragma once

#include <string_view>

namespace gyre {

// Writes a message, made printable, and a line end. Messages may contain names from files and command lines: no command
// writes them to standard error in another way.
void print_message(std::string_view text);

}  // namespace gyre
