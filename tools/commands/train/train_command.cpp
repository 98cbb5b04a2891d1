#include "tools/commands/train/train_command.h"

#include <iostream>

#include "gyre/train/pretrained/trained_model.h"

namespace gyre {

#define GYRE_TRAIN_COMMANDS(function) void function(Program& program);
#include "tools/commands/train/train_commands.inc"
#undef GYRE_TRAIN_COMMANDS

void add_train_commands(Program& program) {
#define GYRE_TRAIN_COMMANDS(function) function(program);
#include "tools/commands/train/train_commands.inc"
#undef GYRE_TRAIN_COMMANDS
}

OptionTable& add_train_command(Program& program, const std::string& name, const std::string& help,
                               std::function<int()> run) {
  OptionTable& table = program.command("train " + name, help, std::move(run), Program::Processes::ranks);
  table.accept_config_files();
  table.resume_from("train.toml");
  return table;
}

void use_own_vocabulary(const OptionTable& table, Path& vocabulary, const StartOptions& start) {
  if (!table.resumes_run() || table.given_in_call("vocab") || vocabulary.empty() || !continues(start)) return;
  vocabulary = own_vocabulary(start.directory).value_or(vocabulary);
}

void print_replay(const ReplayResult& result) {
  if (const auto& anomaly = result.anomaly) {
    std::cout << "update " << anomaly->update << ": the norm of the gradient is " << anomaly->gradient_norm << "; "
              << anomaly->cause << '\n';
  } else {
    std::cout << "updates " << result.first << " to " << result.last << ": all gradients are finite\n";
  }
}

}  // namespace gyre
