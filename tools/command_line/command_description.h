// Commands and options of the command line as data, for shell completion, the man page and `gyre help`.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace gyre {

struct OptionDescription {
  std::vector<std::string> names;  // every spelling, with dashes; a name without dashes is a positional argument
  std::string unit;                // unit of the values, as shown in the help: "FILE", "TOKENS,..."; empty for a flag
  std::string default_value;       // may be empty
  std::string help;
  std::string group;
  int max_values = 0;                // 0: a flag
  std::vector<std::string> choices;  // accepted words; empty if there is no fixed list
  bool required = false;
  bool common = false;  // shown by --help as well as by --help-all

  bool is_positional() const { return !names.front().starts_with('-'); }
  // The first long name, with dashes; configuration files use this name.
  const std::string& name() const {
    const auto is_long = [](const std::string& spelling) { return spelling.starts_with("--"); };
    const auto found = std::find_if(names.begin(), names.end(), is_long);
    return found == names.end() ? names.front() : *found;
  }
};

struct CommandDescription {
  std::string words;  // "train nmt"; empty for the program itself
  std::string help;
  std::vector<OptionDescription> options;
  std::vector<CommandDescription> subcommands;

  std::string last_word() const { return words.substr(words.rfind(' ') + 1); }
};

// Calls f for the program and all its commands, each command before its subcommands.
template <class F>
void for_each_command(const CommandDescription& command, const F& f) {
  f(command);
  for (const CommandDescription& sub : command.subcommands) for_each_command(sub, f);
}

}  // namespace gyre
