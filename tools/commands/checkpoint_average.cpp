// gyre checkpoint average: averages the weights of several checkpoints and writes them as a new checkpoint.
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "gyre/core/io/json.h"
#include "gyre/data/text/utf8.h"
#include "gyre/train/checkpoint/manifest.h"
#include "gyre/train/checkpoint/model_file.h"
#include "tools/command_line/messages.h"
#include "tools/program.h"

namespace gyre {

namespace {

struct AverageArgs {
  Path run;
  int last = 5;
  std::vector<std::string> checkpoints;
  bool json = false;
  const OptionTable* table = nullptr;
};

int average(const AverageArgs& args) {
  if (args.table->given("last") && !args.checkpoints.empty())
    throw UsageError("--last and --checkpoints are mutually exclusive");
  const Path result =
      args.checkpoints.empty() ? average_last(args.run, args.last) : average_chosen(args.run, args.checkpoints);
  const Json manifest = read_manifest(result);
  for (const auto& file : manifest.at("averaged")) print_message(concat("model: ", file.get<std::string>()));
  if (args.json) {
    std::cout << json_text({{"checkpoint", result.string()}}) << '\n';
  } else {
    std::cout << printable_line(result.string()) << '\n';
  }
  return 0;
}

}  // namespace

void add_checkpoint_average_command(Program& program) {
  auto args = std::make_shared<AverageArgs>();
  OptionTable& table =
      program.command("checkpoint average", "average the weights of checkpoints, for use with --checkpoint average",
                      [args] { return average(*args); });
  args->table = &table;
  table.add("--model,-m", args->run, "DIRECTORY", "run directory");
  table.required("model");
  table.add("--last,--num-update-checkpoints", args->last, "CHECKPOINTS", "number of newest checkpoints to average");
  table.add("--checkpoints,--inputs", args->checkpoints, "NAME...",
            "average these checkpoints instead, given by name or path");
  table.add_flag("--json", args->json, "print one JSON object");
}

}  // namespace gyre
