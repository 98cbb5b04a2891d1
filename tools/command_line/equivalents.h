// Suggestions for unknown options and subcommands, including the names that other programs use.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gyre/core/option_list.h"

namespace gyre {

// The options that training tasks and models declare, for what other programs call them and mean by them: all of them,
// those that several structs declare more than once. They have no values to read: the structs are gone.
std::vector<Option> declared_options();

// The end of the error message for an unknown option: "; did you mean --precision bf16?". Translates the names of other
// programs that train models if the equivalent is in `known`, the command's own options. Otherwise suggests the known
// name of which this is a mistyped form; empty if there is none.
std::string suggest_option(std::string_view name, const std::vector<std::string>& known);

// The error message for unknown options, all of them in one line, each with its suggestion.
std::string unknown_options(const std::vector<std::string>& names, const std::vector<std::string>& known);

// The reason why an option takes fewer values than were given, as users of other programs would give more: ": ..", or
// empty.
std::string explain_extra_value(const std::string& option);

// Likewise for an unknown subcommand. `known`: the subcommands at this place. `all`: the words of every command, to
// suggest "train lm" for lm.
std::string suggest_subcommand(std::string_view word, const std::vector<std::string>& known,
                               const std::vector<std::string>& all);

}  // namespace gyre
