#include "tools/command_line/messages.h"

#include <iostream>

#include "gyre/data/text/utf8.h"

namespace gyre {

void print_message(std::string_view text) { std::cerr << printable_message(text) << '\n'; }

}  // namespace gyre
