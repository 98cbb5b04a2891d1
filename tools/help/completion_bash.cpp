#include "gyre/core/option_values.h"
#include "gyre/core/version.h"
#include "tools/help/completion.h"

namespace gyre {

namespace {

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
  constexpr const char* kinds[] = {"file", "directory", "word", "anything"};
  const std::string text = std::to_string(option.max_values) + " " + kinds[size_t(value_kind(option))];
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

}  // namespace gyre
