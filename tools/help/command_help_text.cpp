#include "tools/help/command_help_text.h"

#include <sstream>

namespace gyre {

namespace {

constexpr size_t kWidth = 100, kIndent = 30;

// Formats `text` next to or below `head`, in lines of at most kWidth characters.
std::string entry(const std::string& head, const std::string& text) {
  std::string result = "  " + head;
  size_t column = result.size();
  if (column + 2 > kIndent) {
    result += '\n';
    column = 0;
  }
  result += std::string(kIndent - column, ' ');
  column = kIndent;
  std::istringstream words(text);
  for (std::string word; words >> word; column += word.size()) {
    if (column > kIndent && column + 1 + word.size() > kWidth) {
      result += "\n" + std::string(kIndent, ' ');
      column = kIndent;
    } else if (column > kIndent) {
      result += ' ';
      ++column;
    }
    result += word;
  }
  return result + '\n';
}

std::string spellings(const OptionDescription& option, bool all) {
  std::string names;
  for (const std::string& name : option.names)
    if (all || name == option.name()) names += (names.empty() ? "" : ", ") + name;
  return option.unit.empty() || option.is_positional() ? names : names + " " + option.unit;
}

std::string option_text(const OptionDescription& option) {
  std::string text = option.help;
  if (option.required) text += " (required)";
  if (!option.default_value.empty()) text += " [" + option.default_value + "]";
  return text;
}

bool has_common(const CommandDescription& command) {
  return std::any_of(command.options.begin(), command.options.end(), [](const auto& option) { return option.common; });
}

}  // namespace

std::string command_help(const CommandDescription& command, bool all) {
  all = all || !has_common(command);
  std::string text = command.help + "\n\nUsage: gyre " + command.words + " [OPTIONS]\n", group;
  size_t left_out = 0;
  for (const OptionDescription& option : command.options) {
    if (!all && !option.common && !option.required && !option.names.back().starts_with("--help")) {
      ++left_out;
      continue;
    }
    if (option.group != group) text += "\n" + option.group + ":\n";
    group = option.group;
    text += entry(spellings(option, all), option_text(option));
  }
  if (!command.subcommands.empty()) text += "\nSubcommands:\n";
  for (const CommandDescription& sub : command.subcommands) text += entry(sub.last_word(), sub.help);
  if (left_out > 0)
    text += "\n" + std::to_string(left_out) + " more options and all aliases: gyre " + command.words + " --help-all\n";
  return text;
}

}  // namespace gyre
