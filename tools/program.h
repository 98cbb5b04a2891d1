// The command line of `gyre`: subcommands with their option tables, unknown names, exit statuses.
//   0 done, 1 the run failed, 2 the call was wrong.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/error.h"
#include "tools/option_table.h"

namespace gyre {

class Program {
 public:
  Program();
  ~Program();
  Program(const Program&) = delete;

  // A subcommand by its words ("data build"); groups on the way are made on first use. run returns the exit status.
  OptionTable& command(const std::string& words, const std::string& help, std::function<int()> run);
  // The help of a group of subcommands ("data").
  void describe_group(const std::string& word, const std::string& help);

  // What --help prints for a command by its words; none: the program's. Throws UsageError for one that is not there.
  std::string help(const std::vector<std::string>& words) const;
  CommandDescription describe() const;

  // Throws UsageError for a wrong call, Error for a failed run.
  int run(int argc, const char* const* argv);

 private:
  struct Command {
    CLI::App* app;
    std::unique_ptr<OptionTable> options;
    std::function<int()> run;
  };
  const Command* find_command(const CLI::App& app) const;  // null: a group, or the program itself
  int run_selected(CLI::App& app);
  std::string help(const CLI::App& app, bool all) const;
  std::string help_of_parsed(bool all) const;  // of the command that the words named before --help
  UsageError unknown_subcommand(const std::string& word, const CLI::App& app) const;
  void reject_unknown_subcommands() const;  // before parsing, where --help would hide them
  void reject_unknown(const CLI::App& app) const;
  CommandDescription describe(const CLI::App& app, const std::string& words) const;

  std::unique_ptr<CLI::App> app_;
  std::vector<std::string> words_;  // of the command line
  bool version_ = false, build_info_ = false;
  std::vector<Command> commands_;
};

// Each in tools/command_<name>.cpp.
void add_vocab_command(Program& program);
void add_data_commands(Program& program);
void add_train_nmt_command(Program& program);
void add_train_language_commands(Program& program);
void add_train_classify_commands(Program& program);
void add_translate_command(Program& program);
void add_evaluate_commands(Program& program);
void add_evaluate_perplexity_command(Program& program);
void add_evaluate_extrapolation_command(Program& program);
void add_evaluate_classify_command(Program& program);
void add_checkpoint_average_command(Program& program);
void add_inspect_profile_command(Program& program);
void add_inspect_step_command(Program& program);
void add_inspect_anomaly_command(Program& program);
void add_gradcheck_command(Program& program);
void add_plot_command(Program& program);
void add_plot_attention_command(Program& program);
void add_plot_decay_command(Program& program);
void add_plot_position_command(Program& program);
void add_plot_extrapolation_command(Program& program);
void add_inspect_rope_command(Program& program);
void add_inspect_receptive_field_command(Program& program);
void add_checkpoint_commands(Program& program);
void add_checkpoint_diff_command(Program& program);
void add_import_command(Program& program);
void add_export_command(Program& program);
void add_forward_command(Program& program);
void add_inspect_tape_command(Program& program);
void add_bench_commands(Program& program);
void add_bench_all_reduce_command(Program& program);
void add_plan_commands(Program& program);
void add_completion_commands(Program& program);
void add_man_command(Program& program);
void add_help_command(Program& program);  // after all others, whose names it offers

}  // namespace gyre
