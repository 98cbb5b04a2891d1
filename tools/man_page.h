// The man page, made from the option tables and from the help's topics.
#pragma once

#include <string>

#include "tools/command_description.h"

namespace gyre {

// roff for the man macros: gyre(1).
std::string man_page(const CommandDescription& program);

}  // namespace gyre
