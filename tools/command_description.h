// What the command line offers, as data: shell completion, the man page and `gyre help` are made of it.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace gyre {

struct OptionDescription {
  std::vector<std::string> names;  // every spelling, with its dashes; a word without any: what stands after the options
  std::string unit;                // of its values, as the help has it: "FILE", "TOKENS,..."; of a flag nothing
  std::string default_value;       // may be empty
  std::string help;
  std::string group;
  int most_values = 0;               // 0: a flag
  std::vector<std::string> choices;  // words that it takes, where they are known
  bool required = false;
  bool common = false;  // --help shows it, beside --help-all

  bool is_positional() const { return !names.front().starts_with('-'); }
  // The first long name, that of configuration files; with its dashes.
  const std::string& name() const {
    const auto is_long = [](const std::string& spelling) { return spelling.starts_with("--"); };
    const auto found = std::find_if(names.begin(), names.end(), is_long);
    return found == names.end() ? names.front() : *found;
  }
};

struct CommandDescription {
  std::string words;  // "train nmt"; of the program itself nothing
  std::string help;
  std::vector<OptionDescription> options;
  std::vector<CommandDescription> subcommands;

  std::string last_word() const { return words.substr(words.rfind(' ') + 1); }
};

// Calls f for the program and every command below, a command before its subcommands.
template <class F>
void for_each_command(const CommandDescription& command, const F& f) {
  f(command);
  for (const CommandDescription& sub : command.subcommands) for_each_command(sub, f);
}

}  // namespace gyre
