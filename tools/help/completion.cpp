#include "tools/help/completion.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

#include "gyre/core/enum_names.h"
#include "gyre/core/error.h"
#include "gyre/core/option_values.h"
#include "gyre/core/version.h"

namespace gyre {

// Kind of an option's values.
enum class ValueKind : uint8_t { file, directory, word, anything };
template <>
inline constexpr std::pair<ValueKind, std::string_view> kEnumNames<ValueKind>[] = {{ValueKind::file, "file"},
                                                                                   {ValueKind::directory, "directory"},
                                                                                   {ValueKind::word, "word"},
                                                                                   {ValueKind::anything, "anything"}};

namespace {

ValueKind value_kind(const OptionDescription& option) {
  if (!option.choices.empty()) return ValueKind::word;
  const auto says = [&option](const char* word) { return option.unit.find(word) != std::string::npos; };
  if (says("DIRECTORY")) return ValueKind::directory;
  return says("FILE") || says("PATH") || says("PREFIX") || says("SOURCE") ? ValueKind::file : ValueKind::anything;
}

// ---- bash -----------------------------------------------------------------------------------------------------------

// Bash splits --option=value into three words. A list may be a single word with commas.
constexpr const char* kFunction = R"bash(
_gyre() {
  local cur=${COMP_WORDS[COMP_CWORD]} command= option= given=0 most kind words word i
  for ((i = 1; i < COMP_CWORD; ++i)); do
    word=${COMP_WORDS[i]}
    case $word in
      =) ;;
      -*) option=$word given=0 ;;
      *)
        if [[ -z $option && " $(_gyre_subcommands "$command") " == *" $word "* ]]; then
          command=${command:+$command }$word
        else
          given=$((given + 1))
        fi
        ;;
    esac
  done
  [[ $cur == = ]] && cur=
  COMPREPLY=()
  read -r most kind words <<< "$(_gyre_values "$command" "$option")"
  if [[ $cur != -* && $given -lt ${most:-0} ]]; then
    case $kind in
      file | directory)
        mapfile -t COMPREPLY < <(compgen -A "$kind" -- "$cur")
        compopt -o filenames 2> /dev/null || true
        ;;
      word)
        word=${cur%"${cur##*,}"}
        mapfile -t COMPREPLY < <(compgen -P "$word" -W "$words" -- "${cur##*,}")
        ;;
    esac
    return 0
  fi
  words=$(_gyre_subcommands "$command")
  [[ $cur == -* || -z $words || -n $option ]] && words=$(_gyre_options "$command")
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}

complete -F _gyre gyre
)bash";

// A branch of a shell `case` that prints `output` for the pattern.
std::string branch(const std::string& pattern, const std::string& output) {
  return "    " + pattern + ") echo '" + output + "' ;;\n";
}

std::string subcommand_words(const CommandDescription& command) {
  std::vector<std::string> words;
  for (const CommandDescription& sub : command.subcommands) words.push_back(sub.last_word());
  for (const OptionDescription& option : command.options)
    if (option.is_positional()) words.insert(words.end(), option.choices.begin(), option.choices.end());
  return joined(words, " ");
}

std::string option_words(const CommandDescription& command) {
  std::vector<std::string> words;
  for (const OptionDescription& option : command.options)
    if (!option.is_positional()) words.insert(words.end(), option.names.begin(), option.names.end());
  return joined(words, " ");
}

std::string values(const OptionDescription& option) {
  const std::string text = concat(option.max_values, " ", enum_name(value_kind(option)));
  return option.choices.empty() ? text : text + " " + joined(option.choices, " ");
}

std::string value_branches(const CommandDescription& command) {
  std::string text = "    '" + command.words + "')\n      case $2 in\n";
  for (const OptionDescription& option : command.options)
    if (option.max_values > 0 && !option.is_positional())
      text += "    " + branch(joined(option.names, "|"), values(option));
  return text + "      esac ;;\n";
}

}  // namespace

std::string bash_completion(const CommandDescription& program) {
  std::string subcommands, options, values;
  for_each_command(program, [&](const CommandDescription& command) {
    const std::string words = subcommand_words(command), pattern = "'" + command.words + "'";
    if (!words.empty()) subcommands += branch(pattern, words);
    options += branch(pattern, option_words(command));
    values += value_branches(command);
  });
  const auto function = [](const std::string& comment, const std::string& name, const std::string& selector,
                           const std::string& branches) {
    return "# " + comment + "\n" + name + "() {\n  case " + selector + " in\n" + branches + "  esac\n}\n";
  };
  return "# Completion of gyre " + std::string(kVersion) + " in bash, made by `gyre completion bash`.\n" +
         function("COMMAND -> its subcommands; help takes commands", "_gyre_subcommands", "${1#help }", subcommands) +
         function("COMMAND -> its options", "_gyre_options", "$1", options) +
         function("COMMAND OPTION -> maximum number of values, their kind, and the accepted words", "_gyre_values",
                  "$1", values) +
         kFunction;
}

// ---- zsh ------------------------------------------------------------------------------------------------------------

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
