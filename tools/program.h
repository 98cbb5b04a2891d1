// The command line of `gyre`: subcommands with their option tables, errors for unknown names, exit statuses.
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

// Each is defined in tools/commands/.
void add_vocab_command(Program& program);
void add_encode_command(Program& program);
void add_decode_command(Program& program);
void add_data_build_command(Program& program);
void add_data_check_command(Program& program);
void add_data_clean_command(Program& program);
void add_data_generate_command(Program& program);
void add_data_info_command(Program& program);
void add_data_normalize_command(Program& program);
void add_data_tokenize_command(Program& program);
void add_data_detokenize_command(Program& program);
void add_train_commands(Program& program);
void add_translate_command(Program& program);
void add_score_command(Program& program);
void add_predict_command(Program& program);
void add_generate_command(Program& program);
void add_evaluate_bleu_command(Program& program);
void add_evaluate_chrf_command(Program& program);
void add_evaluate_ter_command(Program& program);
void add_evaluate_translation_command(Program& program);
void add_evaluate_exact_match_command(Program& program);
void add_evaluate_perplexity_command(Program& program);
void add_evaluate_extrapolation_command(Program& program);
void add_evaluate_classify_command(Program& program);
void add_evaluate_match_command(Program& program);
void add_checkpoint_average_command(Program& program);
void add_inspect_profile_command(Program& program);
void add_inspect_step_command(Program& program);
void add_inspect_page_command(Program& program);
void add_inspect_anomaly_command(Program& program);
void add_inspect_batches_command(Program& program);
void add_gradcheck_command(Program& program);
void add_plot_command(Program& program);
void add_plot_attention_command(Program& program);
void add_plot_decay_command(Program& program);
void add_plot_position_command(Program& program);
void add_plot_extrapolation_command(Program& program);
void add_report_command(Program& program);
void add_inspect_rope_command(Program& program);
void add_inspect_receptive_field_command(Program& program);
void add_inspect_stages_command(Program& program);
void add_checkpoint_commands(Program& program);
void add_checkpoint_diff_command(Program& program);
void add_import_command(Program& program);
void add_export_command(Program& program);
void add_forward_command(Program& program);
void add_inspect_tape_command(Program& program);
void add_bench_commands(Program& program);
void add_bench_all_reduce_command(Program& program);
void add_bench_ranks_command(Program& program);
void add_plan_commands(Program& program);
void add_completion_commands(Program& program);
void add_man_command(Program& program);
void add_help_command(Program& program);  // call last: it completes the names of the other commands

}  // namespace gyre
