// The steps that all subcommands of gyre train share.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "gyre/train/options.h"
#include "gyre/train/parallel/communicator.h"
#include "gyre/train/replay.h"
#include "tools/command_line/given_names.h"
#include "tools/options/train_options.h"
#include "tools/program.h"

namespace gyre {

// Adds gyre train NAME. It reads --config files, and the options of the run that it resumes.
OptionTable& add_train_command(Program& program, const std::string& name, const std::string& help,
                               std::function<int()> run);

// If the call continues a run with the run's own options, replaces the path of the vocabulary by that of the run's
// copy: since the run began, the path may have become that of another file.
void use_own_vocabulary(const OptionTable& table, Path& vocabulary, const StartOptions& start);

// Prints a report of the replay.
void print_replay(const ReplayResult& result);

// Validates the options and calls `train` with them on all ranks: train(resolved options, communicator). Returns the
// exit status.
template <class Options, class Train>
int run_training(const OptionTable& table, Options options, Train&& train) {
  record_train_options(table, options);
  use_own_vocabulary(table, options.data.vocabulary, options.start);
  const Resolved<Options> resolved(std::move(options));
  return with_communicator([&](Communicator& ranks) {  // prints the errors of several ranks itself
    return with_given_names(table, [&] {
      const std::optional<ReplayResult> replay = train(resolved, ranks);
      if (replay && ranks.rank() == 0) print_replay(*replay);
      return 0;
    });
  });
}

}  // namespace gyre
