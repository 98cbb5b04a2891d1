#include <algorithm>

#include "gyre/core/version.h"
#include "tools/help/completion.h"

namespace gyre {

namespace {

std::string replaced(const std::string& text, char what, const std::string& with) {
  std::string result;
  for (const char c : text) c == what ? result += with : result += c;
  return result;
}

std::string zsh_quoted(const std::string& text) { return "'" + replaced(text, '\'', "'\\''") + "'"; }

// Escapes the special characters of specifications for _arguments and _describe.
std::string escaped(std::string text) {
  for (const char c : {'\\', '[', ']', ':'}) text = replaced(text, c, std::string("\\") + c);
  return text;
}

std::string function_name(const std::string& words) {
  return "_gyre" + (words.empty() ? "" : "_" + replaced(words, ' ', "_"));
}

std::string action(const OptionDescription& option) {
  std::string words;
  switch (value_kind(option)) {
    case ValueKind::file:
      return "_files";
    case ValueKind::directory:
      return "_files -/";
    case ValueKind::anything:
      return " ";
    case ValueKind::word:
      for (const std::string& word : option.choices) words += " " + word;
      return option.unit.ends_with(",...") ? "_values -s ," + (" " + option.unit) + words : "(" + words.substr(1) + ")";
  }
  return "";
}

// One specification of _arguments for each spelling. Options with several values take all words up to the next option.
std::string specifications(const OptionDescription& option) {
  std::string text;
  if (option.is_positional()) return " \\\n    " + zsh_quoted("*:" + escaped(option.unit) + ":" + action(option));
  for (const std::string& name : option.names) {
    std::string spec = name + (option.max_values == 1 && name.starts_with("--") ? "=" : "");
    spec += "[" + escaped(option.help) + "]";
    if (option.max_values > 0)
      spec += (option.max_values > 1 ? ":*-*:" : ":") + escaped(option.unit) + ":" + action(option);
    text += " \\\n    " + zsh_quoted(spec);
  }
  return text;
}

// The first word selects the function that completes the rest.
std::string group_function(const CommandDescription& command, const std::string& specs) {
  const std::string name = function_name(command.words);
  std::string text = "  local curcontext=$curcontext state line\n  local -a subcommands=(";
  for (const CommandDescription& sub : command.subcommands)
    text += "\n    " + zsh_quoted(escaped(sub.last_word()) + ":" + sub.help);
  text += "\n  )\n  _arguments -C" + specs + " \\\n    '1: :->subcommand' '*:: :->rest'\n  case $state in\n";
  text += "    subcommand) _describe -t commands subcommand subcommands ;;\n";
  text += "    rest) (( $+functions[" + name + "_$line[1]] )) && " + name + "_$line[1] ;;\n";
  return text + "  esac\n";
}

}  // namespace

std::string zsh_completion(const CommandDescription& program) {
  std::string text =
      "#compdef gyre\n# Completion of gyre " + std::string(kVersion) + " in zsh, made by `gyre completion zsh`.\n";
  for_each_command(program, [&text](const CommandDescription& command) {
    std::string specs;
    for (const OptionDescription& option : command.options) specs += specifications(option);
    text += "\n" + function_name(command.words) + "() {\n" +
            (command.subcommands.empty() ? "  _arguments" + specs + "\n" : group_function(command, specs)) + "}\n";
  });
  // Autoloaded as _gyre, the function completes at once; when sourced, the script registers it.
  return text + "\nif [[ $funcstack[1] == _gyre ]]; then _gyre \"$@\"; else compdef _gyre gyre; fi\n";
}

}  // namespace gyre
