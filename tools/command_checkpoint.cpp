// gyre checkpoint info|verify|prune: what a checkpoint holds, whether every byte of it is right, and which may go.
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "core/strict_json.h"
#include "tools/facts.h"
#include "tools/program.h"
#include "train/checkpoint.h"
#include "train/manifest.h"
#include "train/model_file.h"

namespace gyre {

namespace {

struct Checkpoint {
  Path model;
  std::string which;
  bool json = false;
};

Path chosen(const Checkpoint& call) { return find_model_file(call.model, call.which).parent_path(); }

nlohmann::ordered_json training_facts(const Path& checkpoint) {
  const TrainState state = read_train_state(checkpoint);
  nlohmann::ordered_json best = nlohmann::ordered_json::object();
  for (const auto& [name, metric] : state.best) best[name] = {{"value", metric.value}, {"updates", metric.updates}};
  return {{"checkpoint", checkpoint.string()},
          {"updates", state.progress.updates},
          {"epoch", state.progress.epoch},
          {"target_tokens", state.progress.target_tokens},
          {"seconds", state.seconds},
          {"seed", state.seed},
          {"shards", state.shards},
          {"ranks", state.ranks},
          {"deterministic", state.deterministic},
          {"moving_average", state.has_average},
          {"kernels", state.kernels},
          {"best", best},
          {"version", state.version}};
}

// Of a checkpoint of weights alone: an average, or one that was imported.
nlohmann::ordered_json weights_facts(const Path& checkpoint, const nlohmann::ordered_json& manifest) {
  nlohmann::ordered_json facts{{"checkpoint", checkpoint.string()}};
  for (const char* maker : {"averaged", "imported"}) {
    if (manifest.contains(maker)) facts[maker] = manifest[maker];
  }
  facts["version"] = manifest.value("gyre", "");
  return facts;
}

int info(const Checkpoint& call) {
  const Path checkpoint = chosen(call);
  const nlohmann::ordered_json manifest = read_manifest(checkpoint);
  print_facts(manifest.contains("progress") ? training_facts(checkpoint) : weights_facts(checkpoint, manifest),
              call.json);
  return 0;
}

int verify(const Checkpoint& call) {
  const Path checkpoint = chosen(call);
  verify_checkpoint(checkpoint);
  if (call.json) {
    std::cout << json_text({{"checkpoint", checkpoint.string()}, {"whole", true}}) << '\n';
  } else {
    std::cout << checkpoint.string() << ": whole\n";
  }
  return 0;
}

void add(Program& program, const std::string& words, const std::string& help, int (*run)(const Checkpoint&)) {
  auto call = std::make_shared<Checkpoint>();
  OptionTable& table = program.command(words, help, [call, run] { return run(*call); });
  table.add("--model,-m", call->model, "DIRECTORY", "a run directory or a checkpoint directory");
  table.required("model");
  table.add("--checkpoint", call->which, "NAME",
            "of a run: best, last, average or a step-... directory; absent: best where there is one, else last");
  table.add_flag("--json", call->json, "print one JSON object");
}

struct Prune {
  Path run;
  int keep_last = 5;
  uint64_t keep_every = 0;
  bool json = false;
};

int prune(const Prune& call) {
  if (call.keep_last < 1) throw UsageError("--keep-last: expected at least 1, got ", call.keep_last);
  require(!list_checkpoints(call.run).empty(), "[checkpoint] ", call.run.string(), " holds no checkpoints");
  const RunDirectory run(call.run, false);
  try {  // a kill may have left the link behind
    repair_best_link(run, read_train_state(list_checkpoints(call.run).back()));
  } catch (const Error&) {  // an imported model has no state of training
  }
  const std::vector<Path> removed = run.prune(call.keep_last, call.keep_every);
  if (call.json) {
    nlohmann::ordered_json names = nlohmann::ordered_json::array();
    for (const Path& path : removed) names.push_back(path.string());
    std::cout << nlohmann::ordered_json{{"removed", names}}.dump() << '\n';
  } else {
    for (const Path& path : removed) std::cout << "removed " << path.string() << '\n';
  }
  return 0;
}

void add_prune(Program& program) {
  auto call = std::make_shared<Prune>();
  OptionTable& table = program.command("checkpoint prune", "remove old checkpoints of a run; best and last stay",
                                       [call] { return prune(*call); });
  table.add("--model,-m", call->run, "DIRECTORY", "the run directory; no job must work in it");
  table.required("model");
  table.add("--keep-last", call->keep_last, "CHECKPOINTS", "how many of the newest stay");
  table.add("--keep-every", call->keep_every, "UPDATES", "those of a multiple of so many updates stay too; 0: none");
  table.add_flag("--json", call->json, "print one JSON object");
}

}  // namespace

void add_checkpoint_commands(Program& program) {
  program.describe_group("checkpoint", "look at checkpoints and tidy them");
  add(program, "checkpoint info", "print what a checkpoint's state.json holds", info);
  add(program, "checkpoint verify", "compare every tensor with its checksum", verify);
  add_checkpoint_diff_command(program);
  add_checkpoint_average_command(program);
  add_prune(program);
}

}  // namespace gyre
