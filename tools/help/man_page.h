// The man page, generated from the option tables and the help topics.
#pragma once

#include <string>

#include "tools/command_line/command_description.h"

namespace gyre {

// The page gyre(1) in roff with the man macros.
std::string man_page(const CommandDescription& program);

}  // namespace gyre
