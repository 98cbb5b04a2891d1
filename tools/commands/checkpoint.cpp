// gyre checkpoint info|verify|prune: prints the contents of a checkpoint, verifies its checksums, removes old ones.
#include "gyre/train/checkpoint/checkpoint.h"

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "gyre/core/io/json.h"
#include "gyre/core/option_checks.h"
#include "gyre/data/text/utf8.h"
#include "gyre/train/checkpoint/manifest.h"
#include "gyre/train/checkpoint/model_file.h"
#include "tools/options/model_choice.h"
#include "tools/print_summary.h"
#include "tools/program.h"

namespace gyre {

namespace {

struct CheckpointArgs {
  Path model;
  std::string which;
  bool json = false;
};

Path chosen(const CheckpointArgs& args) { return find_model_file(args.model, args.which).parent_path(); }

Json training_summary(const Path& checkpoint) {
  const TrainState state = read_train_state(checkpoint);
  Json best = Json::object();
  for (const auto& [name, metric] : state.best) best[name] = {{"value", metric.value}, {"updates", metric.updates}};
  return {{"checkpoint", checkpoint.string()},
          {"updates", state.progress.updates},
          {"epoch", state.progress.epoch},
          {"target_tokens", state.progress.target_tokens},
          {"seconds", state.seconds},
          {"seed", state.seed},
          {"micro_batches", state.micro_batches},
          {"ranks", state.ranks},
          {"deterministic", state.deterministic},
          {"moving_average", state.has_average},
          {"kernels", state.kernels},
          {"best", best},
          {"version", state.version}};
}

// Summary of a checkpoint that has only weights: an average or an imported model.
Json weights_summary(const Path& checkpoint, const Json& manifest) {
  Json summary{{"checkpoint", checkpoint.string()}};
  for (const char* maker : {"averaged", "imported"}) {
    if (manifest.contains(maker)) summary[maker] = manifest[maker];
  }
  summary["version"] = manifest.value("gyre", "");
  return summary;
}

int info(const CheckpointArgs& args) {
  const Path checkpoint = chosen(args);
  const Json manifest = read_manifest(checkpoint);
  print_summary(manifest.contains("progress") ? training_summary(checkpoint) : weights_summary(checkpoint, manifest),
                args.json);
  return 0;
}

int verify(const CheckpointArgs& args) {
  const Path checkpoint = chosen(args);
  verify_manifest(checkpoint);
  if (args.json) {
    std::cout << json_text({{"checkpoint", checkpoint.string()}, {"whole", true}}) << '\n';
  } else {
    std::cout << printable_line(checkpoint.string()) << ": whole\n";
  }
  return 0;
}

void add(Program& program, const std::string& words, const std::string& help, int (*run)(const CheckpointArgs&)) {
  auto args = std::make_shared<CheckpointArgs>();
  OptionTable& table = program.command(words, help, [args, run] { return run(*args); });
  table.add("--model,-m", args->model, "DIRECTORY", "a run directory or a checkpoint directory");
  table.required("model");
  add_checkpoint_row(table, args->which);
  table.add_flag("--json", args->json, "print one JSON object");
}

struct PruneArgs {
  Path run;
  int keep_last = 5;
  uint64_t keep_every = 0;
  bool json = false;
};

int prune(const PruneArgs& args) {
  expect_at_least(1, "--keep-last", args.keep_last);
  require(!list_checkpoints(args.run).empty(), "[checkpoint] ", args.run.string(), " holds no checkpoints");
  const RunDirectory run(args.run);
  try {  // a killed job may have left an outdated link
    repair_best_link(run, read_train_state(list_checkpoints(args.run).back()));
  } catch (const Error&) {  // an imported model has no training state
  }
  const std::vector<Path> removed = run.prune(args.keep_last, args.keep_every);
  if (args.json) {
    Json names = Json::array();
    for (const Path& path : removed) names.push_back(path.string());
    std::cout << json_text({{"removed", names}}) << '\n';
  } else {
    for (const Path& path : removed) std::cout << "removed " << printable_line(path.string()) << '\n';
  }
  return 0;
}

void add_prune(Program& program) {
  auto args = std::make_shared<PruneArgs>();
  OptionTable& table = program.command("checkpoint prune", "remove old checkpoints of a run, but not best and last",
                                       [args] { return prune(*args); });
  table.add("--model,-m", args->run, "DIRECTORY", "run directory, which no running job may use");
  table.required("model");
  table.add("--keep-last", args->keep_last, "CHECKPOINTS", "number of newest checkpoints to keep");
  table.add("--keep-every", args->keep_every, "UPDATES",
            "also keep checkpoints whose number of updates is a multiple of this; 0: none");
  table.add_flag("--json", args->json, "print one JSON object");
}

}  // namespace

void add_checkpoint_commands(Program& program) {
  program.describe_group("checkpoint", "inspect, verify, average and prune checkpoints");
  add(program, "checkpoint info", "print a checkpoint's state.json", info);
  add(program, "checkpoint verify", "verify the checksums of all tensors", verify);
  add_checkpoint_diff_command(program);
  add_checkpoint_average_command(program);
  add_prune(program);
}

}  // namespace gyre
