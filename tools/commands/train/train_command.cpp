#include "tools/commands/train/train_command.h"

#include <iostream>

#include "gyre/train/pretrained/trained_model.h"

namespace gyre {

// The files of the tasks define these.
void add_train_nmt_command(Program& program);
void add_train_language_commands(Program& program);
void add_train_classify_commands(Program& program);
void add_train_match_command(Program& program);

void add_train_commands(Program& program) {
  // In the order of the help.
  constexpr void (*kTasks[])(Program&) = {add_train_nmt_command, add_train_language_commands,
                                          add_train_classify_commands, add_train_match_command};
  for (const auto add : kTasks) add(program);
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
