// The command line of `gyre`: subcommands with their option tables, help, errors for unknown names, exit statuses.
// Exit status 0: success; 1: the command failed; 2: usage error.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gyre/core/error.h"
#include "tools/command_line/option_table.h"

namespace gyre {

class Program {
 public:
  Program();
  ~Program();
  Program(const Program&) = delete;

  // The processes that a command can be: one, or the ranks of a job, which mpirun starts.
  enum class Processes : uint8_t { one, ranks };
  // Adds a subcommand by its words ("data build"); groups are created on first use. `run` returns the exit status. If
  // mpirun starts a command of one process several times, only the first process fails with an error.
  OptionTable& command(const std::string& words, const std::string& help, std::function<int()> run,
                       Processes processes = Processes::one);
  // Sets the help text of a group of subcommands ("data").
  void describe_group(const std::string& word, const std::string& help);

  // The --help text of the command with these words; of the program if there are none. Throws UsageError for an unknown
  // command.
  std::string help(const std::vector<std::string>& words) const;
  CommandDescription describe() const;

  // Throws UsageError for an invalid command line, Error if the command fails.
  int run(int argc, const char* const* argv);

 private:
  struct Command {
    CLI::App* app;
    std::unique_ptr<OptionTable> options;
    std::function<int()> run;
    Processes processes;
  };
  const Command* find_command(const CLI::App& app) const;  // null: a group, or the program itself
  int run_selected(CLI::App& app);
  std::string help(const CLI::App& app, bool all) const;
  std::string help_of_parsed(bool all) const;  // help of the command that the words named before --help
  UsageError unknown_subcommand(const std::string& word, const CLI::App& app) const;
  void reject_unknown_subcommands() const;  // comes before parsing, because --help would hide the error
  void reject_unknown(const CLI::App& app) const;
  std::string option_before(const std::string& word) const;
  CommandDescription describe(const CLI::App& app, const std::string& words) const;

  std::unique_ptr<CLI::App> app_;
  std::vector<std::string> words_;  // words of the command line
  bool version_ = false, build_info_ = false;
  std::vector<Command> commands_;
};

// Runs `command`. Libraries know only the first name of an option: rethrows their Error with the names by which options
// of the table were given, [--init-from] instead of [--pretrained-model].
int with_given_names(const OptionTable& table, const std::function<int()>& command);

}  // namespace gyre
