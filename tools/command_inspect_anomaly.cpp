// gyre inspect anomaly: makes the updates of a run after a checkpoint once more, until a gradient is not finite, and
// names the first operation whose numbers are not. Under mpirun on all ranks.
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "tools/model_choice.h"
#include "tools/program.h"
#include "train/model_file.h"
#include "train/run_directory.h"
#include "train/trained_model.h"

namespace gyre {
namespace {

struct InspectAnomaly {
  Path model;
  std::string checkpoint;
  uint64_t updates = 1000;
  std::string device;
  int threads = 0;
  std::vector<Path> train_sets;
};

// The task of gyre train that made a run.
std::string task_of(const Path& run) {
  const std::string kind = model_kind(run);
  if (kind == EncoderDecoderConfig::kModel) return "nmt";
  if (kind == EncoderOnlyConfig::kModel) return read_config<EncoderOnlyConfig>(run).causal ? "lm" : "mlm";
  if (read_config<ClassifierConfig>(run).is_regression()) return "regress";
  return read_json(task_path(run)).at("second_text").is_null() ? "classify" : "pair";
}

Path first_checkpoint(const InspectAnomaly& call) {
  const bool chooses = std::filesystem::is_directory(checkpoints_path(call.model)) && call.checkpoint.empty();
  return find_model_file(call.model, chooses ? "last" : call.checkpoint).parent_path();
}

// The options of the run decide, so gyre train reads them as it did then.
int replay(const InspectAnomaly& call) {
  const Path run = find_run(call.model);
  print_model_choice(first_checkpoint(call));
  std::vector<std::string> words{"gyre",
                                 "train",
                                 task_of(run),
                                 "--config",
                                 (run / "train.toml").string(),
                                 "--model",
                                 run.string(),
                                 "--replay",
                                 first_checkpoint(call).string(),
                                 "--replay-updates",
                                 std::to_string(call.updates)};
  if (!call.device.empty()) words.insert(words.end(), {"--device", call.device});
  if (call.threads > 0) words.insert(words.end(), {"--cpu-threads", std::to_string(call.threads)});
  if (!call.train_sets.empty()) words.emplace_back("--train-sets");
  for (const Path& file : call.train_sets) words.push_back(file.string());
  std::vector<const char*> arguments;
  for (const std::string& word : words) arguments.push_back(word.c_str());
  Program training;
  add_train_nmt_command(training);
  add_train_language_commands(training);
  add_train_classify_commands(training);
  return training.run(int(arguments.size()), arguments.data());
}

}  // namespace

void add_inspect_anomaly_command(Program& program) {
  auto call = std::make_shared<InspectAnomaly>();
  OptionTable& table = program.command(
      "inspect anomaly", "make a run's updates once more and name the first operation with a number that is not finite",
      [call] { return replay(*call); });
  table.add("--model,-m", call->model, "DIRECTORY", "a run directory, or a checkpoint in it");
  table.required("model");
  table.add("--checkpoint", call->checkpoint, "NAME",
            "after which to begin: last, best, a step-... directory or a path; absent: last");
  table.add("--updates", call->updates, "UPDATES", "so many at most");
  table.add("--device", call->device, "DEVICE", "instead of the run's own");
  table.add("--cpu-threads,--threads", call->threads, "THREADS", "instead of the run's own number; 0: that one");
  table.add("--train-sets,-t", call->train_sets, "FILE...", "where they have moved since");
}

}  // namespace gyre
