// gyre checkpoint average: the mean of the weights of several checkpoints as a checkpoint of its own.
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "core/strict_json.h"
#include "tools/program.h"
#include "train/manifest.h"
#include "train/model_file.h"

namespace gyre {

namespace {

struct Average {
  Path run;
  int last = 5;
  std::vector<std::string> checkpoints;
  bool json = false;
  const OptionTable* table = nullptr;
};

int average(const Average& call) {
  if (call.table->given("last") && !call.checkpoints.empty())
    throw UsageError("--last and --checkpoints exclude each other");
  const Path result =
      call.checkpoints.empty() ? average_last(call.run, call.last) : average_chosen(call.run, call.checkpoints);
  const nlohmann::ordered_json manifest = read_manifest(result);
  for (const auto& file : manifest.at("averaged")) std::cerr << "model: " << file.get<std::string>() << '\n';
  if (call.json) {
    std::cout << json_text({{"checkpoint", result.string()}}) << '\n';
  } else {
    std::cout << result.string() << '\n';
  }
  return 0;
}

}  // namespace

void add_checkpoint_average_command(Program& program) {
  auto call = std::make_shared<Average>();
  OptionTable& table = program.command("checkpoint average",
                                       "average the weights of checkpoints; translate it with --checkpoint average",
                                       [call] { return average(*call); });
  call->table = &table;
  table.add("--model,-m", call->run, "DIRECTORY", "the run directory");
  table.required("model");
  table.add("--last,--num-update-checkpoints", call->last, "CHECKPOINTS", "how many of the newest");
  table.add("--checkpoints,--inputs", call->checkpoints, "NAME...", "these ones instead, by name or path");
  table.add_flag("--json", call->json, "print one JSON object");
}

}  // namespace gyre
