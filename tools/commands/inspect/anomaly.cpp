// gyre inspect anomaly: repeats the updates of a run after a checkpoint until a gradient is not finite, and names the
// first operation whose result is not finite. Under mpirun it checks all ranks.
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "gyre/core/io/json.h"
#include "gyre/core/option_checks.h"
#include "gyre/train/checkpoint/model_file.h"
#include "gyre/train/checkpoint/run_directory.h"
#include "gyre/train/parallel/launcher.h"
#include "gyre/train/pretrained/trained_model.h"
#include "tools/options/model_choice.h"
#include "tools/program.h"

namespace gyre {

void add_train_commands(Program& program);  // tools/commands/train.cpp

namespace {

struct InspectAnomalyArgs {
  Path model;
  std::string checkpoint;
  uint64_t updates = 1000;
  std::string device;
  int threads = 0;
  std::vector<Path> train_sets;
};

// The subcommand of gyre train that created the run.
std::string task_of(const Path& run) {
  const std::string kind = model_kind(run);
  if (kind == EncoderDecoderConfig::kModel) return "nmt";
  if (kind == EncoderOnlyConfig::kModel) return read_config<EncoderOnlyConfig>(run).causal ? "lm" : "mlm";
  const Json task = read_json(task_path(run));
  if (task.contains("task")) return task.at("task");
  if (read_config<ClassifierConfig>(run).is_regression()) return "regress";
  return task.at("second_text").is_null() ? "classify" : "pair";
}

Path first_checkpoint(const InspectAnomalyArgs& args) {
  const bool chooses = std::filesystem::is_directory(checkpoints_path(args.model)) && args.checkpoint.empty();
  return find_model_file(args.model, chooses ? "last" : args.checkpoint).parent_path();
}

// Runs gyre train with the options of the run.
int replay(const InspectAnomalyArgs& args) {
  expect_at_least(1, "--updates", args.updates);
  const Path run = find_run(args.model);
  if (launch_of_process().process == 0) print_model_choice(first_checkpoint(args));
  std::vector<std::string> words{"gyre",
                                 "train",
                                 task_of(run),
                                 "--config",
                                 (run / "train.toml").string(),
                                 "--model",
                                 run.string(),
                                 "--replay",
                                 first_checkpoint(args).string(),
                                 "--replay-updates",
                                 std::to_string(args.updates)};
  if (!args.device.empty()) words.insert(words.end(), {"--device", args.device});
  if (args.threads > 0) words.insert(words.end(), {"--cpu-threads", std::to_string(args.threads)});
  if (!args.train_sets.empty()) words.emplace_back("--train-sets");
  for (const Path& file : args.train_sets) words.push_back(file.string());
  std::vector<const char*> arguments;
  for (const std::string& word : words) arguments.push_back(word.c_str());
  Program training;
  add_train_commands(training);
  return training.run(int(arguments.size()), arguments.data());
}

}  // namespace

void add_inspect_anomaly_command(Program& program) {
  auto args = std::make_shared<InspectAnomalyArgs>();
  OptionTable& table = program.command(
      "inspect anomaly", "repeat updates of a run to find the first op with a non-finite result",
      [args] { return replay(*args); }, Program::Processes::ranks);
  table.add("--model,-m", args->model, "DIRECTORY", "run directory, or a checkpoint in it");
  table.required("model");
  table.add("--checkpoint", args->checkpoint, "NAME",
            "checkpoint to start from: last, best, a step-... directory or a path; default: last");
  table.add("--updates", args->updates, "UPDATES", "maximum number of updates to replay");
  table.add("--device", args->device, "DEVICE", "device to use instead of the run's own");
  table.add("--cpu-threads,--threads", args->threads, "THREADS", "number of threads; 0: that of the run");
  table.add("--train-sets,-t", args->train_sets, "FILE...", "training data, if it has moved since");
}

}  // namespace gyre
