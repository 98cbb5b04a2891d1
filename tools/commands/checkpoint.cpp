// gyre checkpoint info | verify | prune | average | merge | diff: prints, verifies, removes, averages, merges and
// compares checkpoints.
#include "gyre/train/checkpoint/checkpoint.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "gyre/core/io/json.h"
#include "gyre/core/io/safetensors.h"
#include "gyre/core/option_checks.h"
#include "gyre/core/version.h"
#include "gyre/data/text/utf8.h"
#include "gyre/models/encoder_decoder.h"
#include "gyre/models/encoder_only.h"
#include "gyre/train/checkpoint/lora_record.h"
#include "gyre/train/checkpoint/model_file.h"
#include "gyre/train/pretrained/hugging_face.h"
#include "gyre/train/pretrained/trained_model.h"
#include "tools/command_line/messages.h"
#include "tools/options/model_choice.h"
#include "tools/program.h"
#include "tools/summary.h"

namespace gyre {

namespace {

struct CheckpointArgs {
  Path model;
  std::string which;
  bool json = false;
};

Path chosen(const CheckpointArgs& args) { return find_model_file(args.model, args.which).parent_path(); }

Json training_summary(const Path& checkpoint, const Json& manifest) {
  const TrainState state = read_train_state(checkpoint);
  Json best = Json::object();
  for (const auto& [name, metric] : state.best) best[name] = {{"value", metric.value}, {"updates", metric.updates}};
  Json summary{{"checkpoint", checkpoint.string()},
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
  if (manifest.contains("merged")) summary["merged"] = manifest["merged"];
  return summary;
}

// Summary of a checkpoint that has only weights: an average, an imported or a merged model.
Json weights_summary(const Path& checkpoint, const Json& manifest) {
  Json summary{{"checkpoint", checkpoint.string()}};
  for (const char* maker : {"averaged", "imported", "merged"}) {
    if (manifest.contains(maker)) summary[maker] = manifest[maker];
  }
  summary["version"] = manifest.value("gyre", "");
  return summary;
}

int info(const CheckpointArgs& args) {
  const Path checkpoint = chosen(args);
  const Json manifest = read_manifest(checkpoint);
  print_summary(
      manifest.contains("progress") ? training_summary(checkpoint, manifest) : weights_summary(checkpoint, manifest),
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

// ---- gyre checkpoint average: writes the mean of the weights of several checkpoints as a new one -------------------

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

// ---- gyre checkpoint merge: adds the adapters of a run to the weights of its base --------------------------------

struct MergeArgs {
  Path model, output;
  std::string which;
  bool overwrite = false;
};

// The state of the training goes along, by which other commands know how the texts of the training began.
template <class Model>
void write_merged(const MergeArgs& args, const Path& run) {
  const Path file = find_model_file(args.model, args.which);
  const auto model = load_model<Model>(file, "", {});
  const auto trained = find_run_state(args.model, args.which);
  Json state = trained ? to_json(*trained) : Json{{"gyre", kVersion}};
  state["merged"] = std::filesystem::absolute(file).lexically_normal().string();
  const auto complete = [&](const Path& into) { copy_model_files(run, into); };
  write_run_of_weights(args.output, {model->parameters(), model->config().to_json(), state, complete}, args.overwrite);
}

int merge(const MergeArgs& args) {
  const Path run = find_run(args.model);
  const std::optional<LoraRecord> record = find_lora_record(run);
  require(record.has_value(), "[--model] ", run.string(),
          ": expected a run with adapters (train --lora-rank), found a whole model");
  std::error_code ignored;  // a new run does not exist yet
  const bool is_run = std::filesystem::equivalent(run, args.output, ignored);
  const bool is_base = std::filesystem::exists(record->base) &&
                       std::filesystem::equivalent(find_run(record->base), args.output, ignored);
  expect(!is_run && !is_base, "--output", "another run than those of the adapters and of their base",
         args.output.string());
  print_model_choice(args.model, args.which);
  if (model_kind(run) == EncoderDecoderConfig::kModel) {
    write_merged<EncoderDecoder>(args, run);
  } else {
    write_merged<EncoderOnly>(args, run);
  }
  print_message(concat("made ", args.output.string()));
  return 0;
}

void add_merge(Program& program) {
  auto args = std::make_shared<MergeArgs>();
  OptionTable& table =
      program.command("checkpoint merge", "write a run whose weights are those of a base with its adapters merged in",
                      [args] { return merge(*args); });
  add_model_rows(table, args->model, args->which);
  table.add("--output,-o", args->output, "DIRECTORY", "run directory to create");
  table.required("output");
  table.add_flag("--overwrite", args->overwrite,
                 "replace the run in the directory; files that Gyre did not create stay");
}

// ---- gyre checkpoint diff: compares two checkpoints ----------------------------------------------------------------

struct DiffArgs {
  std::vector<Path> checkpoints;
  bool json = false;
};

// A tensor whose bits differ between the checkpoints.
struct Difference {
  std::string file, name, what;  // what: the difference if the values cannot be compared
  double largest = 0;            // |a - b|
  double relative = 0;           // |a - b| / |a|, by Euclidean norms
};

// Reads a tensor of any type as doubles.
std::vector<double> numbers(const SafetensorsFile& file, const SafetensorsEntry& entry) {
  const Tensor tensor = file.read(entry);
  if (tensor.dtype() == DType::i32) {
    const auto values = tensor.to_vector<int32_t>();
    return {values.begin(), values.end()};
  }
  return tensor.to(DType::f64).to_vector<double>();
}

void compare_numbers(const std::vector<double>& a, const std::vector<double>& b, Difference& difference) {
  double apart = 0, size = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double d = std::abs(a[i] - b[i]);
    difference.largest = std::isnan(d) ? d : std::max(difference.largest, d);
    apart += d * d;
    size += a[i] * a[i];
  }
  difference.relative = std::sqrt(apart / size);
}

std::vector<Difference> compare_files(const std::string& name, const Path& a, const Path& b) {
  const SafetensorsFile first(a / name), second(b / name);
  std::vector<Difference> differences;
  for (const auto& entry : first.entries()) {
    const SafetensorsEntry* other = second.find(entry.name);
    Difference d{name, entry.name, ""};
    if (other == nullptr) {
      d.what = "only in the first";
    } else if (other->dtype != entry.dtype || other->shape != entry.shape) {
      d.what = concat(entry.dtype, " ", entry.shape_text(), " and ", other->dtype, " ", other->shape_text());
    } else if (!std::ranges::equal(first.bytes(entry), second.bytes(*other))) {
      compare_numbers(numbers(first, entry), numbers(second, *other), d);
    } else {
      continue;
    }
    differences.push_back(d);
  }
  for (const auto& entry : second.entries()) {
    if (first.find(entry.name) == nullptr) differences.push_back({name, entry.name, "only in the second"});
  }
  return differences;
}

std::set<std::string> tensor_files(const Json& manifest) {
  std::set<std::string> names;
  for (const auto& [name, checksums] : manifest.at("tensors").items()) names.insert(name);
  return names;
}

// Differences between the two state.json, without the tensors' checksums: {"/progress/updates": [100, 200]}.
Json compare_states(Json a, Json b) {
  for (Json* state : {&a, &b}) state->erase("tensors");
  Json differences = Json::object();
  const Json first = a.flatten(), second = b.flatten();
  for (const Json* side : {&first, &second}) {
    for (const auto& [path, value] : side->items()) {
      const Json x = first.value(path, Json()), y = second.value(path, Json());
      if (x != y) differences[path] = {x, y};
    }
  }
  return differences;
}

Json to_json(const std::vector<Difference>& differences) {
  Json list = Json::array();
  for (const Difference& d : differences) {
    Json& item = list.emplace_back(Json{{"file", d.file}, {"tensor", d.name}});
    if (d.what.empty()) {
      item.update({{"largest", d.largest}, {"relative", d.relative}});
    } else {
      item["difference"] = d.what;
    }
  }
  return list;
}

void print(const Json& state, const std::vector<Difference>& tensors) {
  for (const auto& [path, values] : state.items())
    std::cout << printable_line(path) << ": " << json_text(values[0]) << " -> " << json_text(values[1]) << '\n';
  for (const Difference& d : tensors) {
    std::cout << printable_line(concat(d.file, ": ", d.name)) << ": ";
    if (d.what.empty()) {
      std::cout << "largest difference " << d.largest << ", relative " << d.relative << '\n';
    } else {
      std::cout << printable_line(d.what) << '\n';
    }
  }
  if (tensors.empty()) std::cout << "all tensors have the same bits\n";
}

// Returns 1 if a tensor differs, like diff(1).
int diff(const DiffArgs& args) {
  if (args.checkpoints.size() != 2)
    throw UsageError("--model: expected two runs or checkpoints, got ", args.checkpoints.size());
  const Path a = find_model_file(args.checkpoints[0]).parent_path(),
             b = find_model_file(args.checkpoints[1]).parent_path();
  const Json first = read_manifest(a), second = read_manifest(b);
  std::vector<Difference> tensors;
  const std::set<std::string> files = tensor_files(first), others = tensor_files(second);
  for (const std::string& name : files) {
    if (others.count(name) == 0) {
      tensors.push_back({name, "all", "only in the first"});
      continue;
    }
    const std::vector<Difference> found = compare_files(name, a, b);
    tensors.insert(tensors.end(), found.begin(), found.end());
  }
  for (const std::string& name : others) {
    if (files.count(name) == 0) tensors.push_back({name, "all", "only in the second"});
  }
  const Json state = compare_states(first, second);
  if (args.json) {
    std::cout << json_text({{"state", state}, {"tensors", to_json(tensors)}}) << '\n';
  } else {
    print(state, tensors);
  }
  return tensors.empty() ? 0 : 1;
}

void add_checkpoint_diff_command(Program& program) {
  auto args = std::make_shared<DiffArgs>();
  OptionTable& table = program.command("checkpoint diff", "compare two checkpoints; exit status 1 if a tensor differs",
                                       [args] { return diff(*args); });
  table.add("--model,-m", args->checkpoints, "DIRECTORY...", "two runs or checkpoint directories");
  table.required("model");
  table.add_flag("--json", args->json, "print one JSON object");
}

}  // namespace

void add_checkpoint_commands(Program& program) {
  program.describe_group("checkpoint", "inspect, verify, average, merge and prune checkpoints");
  add(program, "checkpoint info", "print a checkpoint's state.json", info);
  add(program, "checkpoint verify", "verify the checksums of all tensors", verify);
  add_checkpoint_diff_command(program);
  add_checkpoint_average_command(program);
  add_merge(program);
  add_prune(program);
}

}  // namespace gyre
