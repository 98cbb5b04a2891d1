// What `gyre COMMAND --help` and `--help-all` print, made from the option tables.
#pragma once

#include <string>

#include "tools/command_description.h"

namespace gyre {

// all: every option under every name; else the common ones under their first names, where some are marked as such.
std::string command_help(const CommandDescription& command, bool all);

}  // namespace gyre
