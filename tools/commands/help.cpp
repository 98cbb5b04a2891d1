// gyre help: prints the list of commands and topics, the page of a topic, or the options of a command.
#include <algorithm>
#include <iomanip>
#include <iostream>
#include <memory>

#include "gyre/core/suggestions.h"
#include "tools/help/help_topics.h"
#include "tools/program.h"

namespace gyre {

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
    std::cout << topic->text;
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
