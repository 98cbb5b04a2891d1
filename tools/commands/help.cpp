// gyre help, gyre man and gyre completion: help for readers, the man page, completion scripts for shells.
#include <algorithm>
#include <iomanip>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gyre/core/suggestions.h"
#include "gyre/core/version.h"
#include "tools/command_line/command_description.h"
#include "tools/help/completion.h"
#include "tools/help/help_topics.h"
#include "tools/program.h"

namespace gyre {

void add_completion_commands(Program& program) {
  program.describe_group("completion", "print a completion script for a shell");
  program.command("completion bash", "script for bash: source <(gyre completion bash)", [&program] {
    std::cout << bash_completion(program.describe());
    return 0;
  });
  program.command("completion zsh", "script for zsh, in a directory of fpath: gyre completion zsh > _gyre", [&program] {
    std::cout << zsh_completion(program.describe());
    return 0;
  });
}

// ---- gyre man: prints the man page, which is made of the option tables and the help topics -------------------------

namespace {

// Escapes text for roff: backslashes, hyphens, accents, and dots at the start of a line.
std::string roff(std::string_view text) {
  std::string result;
  bool line_starts = true;
  for (const char c : text) {
    if (line_starts && (c == '.' || c == '\'')) result += "\\&";
    line_starts = c == '\n';
    switch (c) {
      case '\\':
        result += "\\e";
        break;
      case '-':
        result += "\\-";
        break;
      case '\'':
        result += "\\(aq";
        break;
      case '`':
        result += "\\(ga";
        break;
      case '^':
        result += "\\(ha";
        break;
      case '~':
        result += "\\(ti";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string bold(std::string_view text) { return "\\fB" + roff(text) + "\\fP"; }

std::string italic(std::string_view text) { return "\\fI" + roff(text) + "\\fP"; }

std::string section(const std::string& title) { return ".SH " + title + "\n"; }

std::string tagged(const std::string& tag, const std::string& text) { return ".TP\n" + tag + "\n" + text + "\n"; }

// Keeps the lines of the topic, because they contain commands.
std::string topic(const std::string& name) { return ".nf\n" + roff(help_topic(name)->page()) + ".fi\n"; }

std::string option_entry(const OptionDescription& option) {
  std::string tag;
  for (const std::string& name : option.names) tag += (tag.empty() ? "" : ", ") + bold(name);
  if (!option.unit.empty()) tag += " " + italic(option.unit);
  std::string text = roff(option.help) + ".";
  if (option.required) text += " Required.";
  if (!option.default_value.empty()) text += " Default: " + bold(option.default_value) + ".";
  return tagged(tag, text);
}

// The options under one heading of the help.
struct Group {
  std::string title, names, entries;
};

std::vector<Group> groups_of(const CommandDescription& command) {
  std::vector<Group> groups;
  for (const OptionDescription& option : command.options) {
    if (option.name().starts_with("--help")) continue;  // every command has them
    if (groups.empty() || groups.back().title != option.group) groups.push_back({option.group, "", ""});
    groups.back().names += (groups.back().names.empty() ? "" : ", ") + bold(option.name());
    groups.back().entries += option_entry(option);
  }
  return groups;
}

// Entries of the commands. A group of options that several commands share is printed in full only for the first of
// them.
class Commands {
 public:
  std::string entry(const CommandDescription& command) {
    std::string text = ".SS gyre " + roff(command.words) + "\n" + roff(command.help) + ".\n";
    for (const Group& group : groups_of(command)) {
      if (group.title == "Options") {
        text += group.entries;
        continue;
      }
      const auto [first, is_new] = first_.emplace(group.title + group.entries, command.words);
      text += ".PP\n" + italic(group.title);
      text += is_new ? "\n" + group.entries : ", as in " + bold("gyre " + first->second) + ": " + group.names + ".\n";
    }
    return text;
  }

 private:
  std::map<std::string, std::string> first_;  // command by title and text of a group
};

std::string synopsis(const CommandDescription& program) {
  std::string text =
      section("SYNOPSIS") + ".nf\n" + bold("gyre") + " " + italic("COMMAND") + " [" + italic("OPTIONS") + "]\n";
  for (const OptionDescription& option : program.options) text += bold("gyre") + " " + bold(option.name()) + "\n";
  return text + ".fi\n";
}

std::string topics() {
  std::string text = section("TOPICS") + bold("gyre help TOPIC") + " prints a page on each of these.\n";
  for (const HelpTopic& t : help_topics()) text += tagged(bold(t.name), roff(t.summary) + ".");
  return text;
}

// The page gyre(1) in roff with the man macros.
std::string man_page(const CommandDescription& program) {
  std::string commands =
      section("COMMANDS") + "Each takes " + bold("--help") + " and " + bold("--help-all") + " too.\n";
  Commands entries;
  for_each_command(program, [&](const CommandDescription& command) {
    if (!command.words.empty()) commands += entries.entry(command);
  });
  return ".TH GYRE 1 \"\" \"gyre " + std::string(kVersion) + "\" \"User Commands\"\n.nh\n.ad l\n" + section("NAME") +
         "gyre \\- train transformers from scratch, over MPI\n" + synopsis(program) + section("DESCRIPTION") +
         roff(program.help) + "\n" + commands + topics() + section("EXIT STATUS") + topic("exit-status") +
         section("ENVIRONMENT") + topic("environment") + section("FILES") + topic("run-directory") +
         section("SEE ALSO") + ".BR mpirun (1),\n.BR tensorboard (1)\n";
}

}  // namespace

void add_man_command(Program& program) {
  program.command("man", "print the man page: gyre man > gyre.1; man -l gyre.1", [&program] {
    std::cout << man_page(program.describe());
    return 0;
  });
}

// ---- gyre help: prints the list of commands and topics, the page of a topic, or the options of a command -----------

namespace {

void print_row(std::string_view name, std::string_view text) {
  std::cout << "  " << std::left << std::setw(15) << name << text << '\n';
}

void print_overview(const CommandDescription& program) {
  std::cout << program.help << "\n\nCommands (gyre help COMMAND, or gyre COMMAND --help):\n";
  for (const CommandDescription& command : program.subcommands) print_row(command.words, command.help);
  std::cout << "\nTopics (gyre help TOPIC):\n";
  for (const HelpTopic& topic : help_topics()) print_row(topic.name, topic.summary);
}

// Words that may follow `gyre help`: topics and commands.
std::vector<std::string> subjects(const Program& program) {
  std::vector<std::string> names;
  for (const HelpTopic& topic : help_topics()) names.emplace_back(topic.name);
  for (const CommandDescription& command : program.describe().subcommands) names.push_back(command.words);
  return names;
}

int print_help(const Program& program, const std::vector<std::string>& words) {
  if (words.empty()) {
    print_overview(program.describe());
  } else if (const HelpTopic* topic = words.size() == 1 ? help_topic(words.front()) : nullptr) {
    std::cout << topic->page();
  } else {
    const std::vector<std::string> known = subjects(program);
    if (std::find(known.begin(), known.end(), words.front()) == known.end())
      throw UsageError("unknown topic or command ", words.front(), did_you_mean(words.front(), known));
    std::cout << program.help(words);
  }
  return 0;
}

}  // namespace

void add_help_command(Program& program) {
  auto words = std::make_shared<std::vector<std::string>>();
  OptionTable& table = program.command("help", "show help on a topic or a command",
                                       [&program, words] { return print_help(program, *words); });
  table.add_custom("words", 0, OptionTable::kAnyNumber, "TOPIC|COMMAND",
                   "topic or command; default: list all commands and topics",
                   [words](const std::vector<std::string>& values) { *words = values; });
  table.set_completions(subjects(program));
}

}  // namespace gyre
