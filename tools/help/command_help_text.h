// Help text of a command for `--help` and `--help-all`, generated from the option tables.
#pragma once

#include <string>

#include "tools/command_line/command_description.h"

namespace gyre {

// all: lists every option with all its names. Otherwise lists only the options marked as common, if there are any, with
// their first names.
std::string command_help(const CommandDescription& command, bool all);

}  // namespace gyre
