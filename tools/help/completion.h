// Shell completion scripts, generated from the option tables. They complete subcommands, options, and the words, files
// or directories that an option accepts.
#pragma once

#include <string>

#include "tools/command_line/command_description.h"

namespace gyre {

std::string bash_completion(const CommandDescription& program);
std::string zsh_completion(const CommandDescription& program);

}  // namespace gyre
