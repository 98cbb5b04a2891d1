#include "gyre/train/checkpoint/checkpoint.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "gyre/autograd/inspect/tensor_stats.h"
#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/core/io/safetensors.h"
#include "gyre/core/version.h"
#include "gyre/train/checkpoint/run_directory.h"

namespace gyre {

namespace {

constexpr int kFormat = 1;

std::string hex(uint32_t crc) {
  char text[9];
  std::snprintf(text, sizeof text, "%08x", crc);
  return text;
}

// Includes dtype and shape, because the file's header, which stores them, has no checksum.
std::string tensor_checksum(std::string_view dtype, const std::string& shape, std::span<const std::byte> bytes) {
  const std::string description = concat(dtype, shape);
  return hex(crc32c(bytes.data(), bytes.size(), crc32c(description.data(), description.size())));
}

std::string text_checksum(const Json& state) {
  const std::string text = json_text(state);
  return hex(crc32c(text.data(), text.size()));
}

void verify_file(const Path& path, const Json& checksums) {
  const SafetensorsFile file(path);
  require(checksums.is_object(), "[checkpoint] ", path.string(), ": expected checksums of tensors, found none");
  for (const auto& [name, expected] : checksums.items()) {
    require(file.find(name) != nullptr, "[checkpoint] ", path.string(), ": tensor ", name, " is missing");
  }
  for (const auto& entry : file.entries()) {
    const auto expected = checksums.find(entry.name);
    require(expected != checksums.end(), "[checkpoint] ", path.string(), ": unexpected tensor ", entry.name);
    const std::string got = tensor_checksum(entry.dtype, entry.shape_text(), file.bytes(entry));
    require(*expected == got, "[checkpoint] ", path.string(), ": tensor ", entry.name, ": expected checksum ",
            expected->dump(), ", got \"", got, '"');
  }
}

// Checksums by file and tensor.
Json checksums_of_files(const Path& directory) {
  const Json state = read_manifest(directory);
  const auto files = state.find("tensors");
  require(files != state.end() && files->is_object(), "[checkpoint] ", state_path(directory).string(),
          ": not what Gyre writes: it has no tensors");
  return *files;
}

// Returns the checksums of the tensors.
Json write_tensors(const Path& path, const std::vector<TensorSource>& tensors) {
  Json checksums = Json::object();
  write_safetensors(path, tensors, {{"format", "pt"}}, [&](const std::string& name, const Tensor& t) {
    const std::span<const std::byte> bytes(static_cast<const std::byte*>(t.raw()), t.bytes());
    checksums[name] = tensor_checksum(safetensors_dtype(t.dtype()), to_string(t.shape()), bytes);
  });
  return checksums;
}

}  // namespace

void write_manifest(const Path& directory, const Json& summary, const std::vector<TensorFile>& files) {
  Json state{{"format", kFormat}};
  state.update(summary);
  for (const TensorFile& file : files) state["tensors"][file.name] = write_tensors(directory / file.name, file.tensors);
  state["checksum"] = text_checksum(state);
  write_file(state_path(directory), json_text(state, 1) + "\n");
}

Json read_manifest(const Path& directory) {
  const Path path = state_path(directory);
  const std::string text = read_file(path);
  try {
    Json state = parse_ordered_json(text, kMaxJsonDepth, concat("[checkpoint] ", path.string(), ": "), "the file");
    const auto expected = state.at("checksum").get<std::string>();
    state.erase("checksum");
    const std::string got = text_checksum(state);
    require(expected == got, "[checkpoint] ", path.string(), ": expected checksum ", expected, ", got ", got);
    require(state.at("format") == kFormat, "[checkpoint] ", path.string(), ": expected format ", kFormat, ", got ",
            state["format"].dump());
    return state;
  } catch (const Json::exception& error) {
    throw Error("[checkpoint] ", path.string(), ": not what Gyre writes: ", json_reason(error));
  }
}

void verify_manifest(const Path& directory) {
  const Json files = checksums_of_files(directory);
  for (const auto& [name, checksums] : files.items()) verify_file(directory / name, checksums);
}

void verify_tensors(const Path& file) {
  const Json checksums = checksums_of_files(file.parent_path());
  const std::string name = file.filename().string();
  require(checksums.contains(name), "[checkpoint] ", state_path(file.parent_path()).string(),
          ": expected checksums of ", name, ", found none");
  verify_file(file, checksums[name]);
}

namespace {

constexpr const char* kOptimizerFile = "optimizer.safetensors";
constexpr const char* kWeights = "weights.";  // prefix of the weights in optimizer.safetensors

// JSON has no infinity, but a perplexity may be infinite.
Json number_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }
double null_is_infinite(const Json& value) {
  return value.is_null() ? std::numeric_limits<double>::infinity() : value.get<double>();
}

}  // namespace

Json to_json(const TrainState& s) {
  Json best = Json::object();
  for (const auto& [name, metric] : s.best) {
    best[name] = {{"value", number_or_null(metric.value)}, {"updates", metric.updates}};
  }
  Json best_checkpoint;
  if (const auto& b = s.best_checkpoint) {
    best_checkpoint = {{"metric", b->metric}, {"value", number_or_null(b->value)}, {"updates", b->updates}};
  }
  return {
      {"gyre", s.version},
      {"progress",
       {{"updates", s.progress.updates},
        {"epoch", s.progress.epoch},
        {"batch", s.progress.batch},
        {"target_tokens", s.progress.target_tokens},
        {"source_tokens", s.progress.source_tokens},
        {"sentences", s.progress.sentences}}},
      {"seconds", s.seconds},
      {"optimizer", {{"step", s.optimizer_step}, {"moments_step", s.moments_step}, {"moving_average", s.has_average}}},
      {"validation",
       {{"due", s.validation_due},
        {"stalled", s.validations_without_improvement},
        {"best", best},
        {"best_checkpoint", best_checkpoint},
        {"basis", s.validation_basis}}},
      {"unreported", s.unreported},
      {"seed", s.seed},
      {"shards", s.micro_batches},
      {"ranks", s.ranks},
      {"deterministic", s.deterministic},
      {"kernels", s.kernels},
      {"options", {{"of_data", s.options.of_data}, {"of_bits", s.options.of_bits}}}};
}

namespace {

RunOptions run_options(const Json& j) {
  RunOptions options;
  if (j.contains("of_data")) return {.of_data = j.at("of_data"), .of_bits = j.at("of_bits")};
  // Earlier versions wrote one list, with '=' before the names of the options of the data.
  for (const auto& [key, value] : j.items()) {
    const bool is_of_data = key.starts_with('=');
    const std::string name = is_of_data ? key.substr(1) : key;
    (is_of_data ? options.of_data : options.of_bits)[name == "shards" ? "micro-batches" : name] = value;
  }
  return options;
}

void read_validation(const Json& j, TrainState& s) {
  s.validations_without_improvement = j.at("stalled");
  for (const auto& [name, metric] : j.at("best").items()) {
    s.best[name] = {null_is_infinite(metric.at("value")), metric.at("updates")};
  }
  s.validation_due = j.at("due");
  j.at("basis").get_to(s.validation_basis);
  if (const Json& best = j.at("best_checkpoint"); !best.is_null())
    s.best_checkpoint = {best.at("metric"), null_is_infinite(best.at("value")), best.at("updates")};
}

TrainState from_json(const Json& j) {
  TrainState s;
  s.version = j.at("gyre");
  const Json& progress = j.at("progress");
  s.progress.updates = progress.at("updates");
  s.progress.epoch = progress.at("epoch");
  s.progress.batch = progress.at("batch");
  s.progress.target_tokens = progress.at("target_tokens");
  s.progress.source_tokens = progress.at("source_tokens");
  s.progress.sentences = progress.at("sentences");
  s.seconds = j.at("seconds");
  s.optimizer_step = j.at("optimizer").at("step");
  s.moments_step = j.at("optimizer").at("moments_step");
  s.has_average = j.at("optimizer").at("moving_average");
  read_validation(j.at("validation"), s);
  s.unreported = j.at("unreported");
  s.seed = j.at("seed");
  s.micro_batches = j.at("shards");
  s.ranks = j.at("ranks");
  s.deterministic = j.at("deterministic");
  s.kernels = j.at("kernels");
  s.options = run_options(j.at("options"));
  return s;
}

StateTensor weights_of(const Parameter& p, std::string name) {
  return {std::move(name), p.shape, [&p] { return p.value; }, [&p](const Tensor& t) { p.value.copy_from(t); }};
}

struct StateFile {
  std::string name;
  std::vector<StateTensor> tensors;
};

// The tensors of both files. Saving and restoring use the same lists.
std::vector<StateFile> state_files(const Parameters& parameters, const Optimizer& optimizer) {
  StateFile model{kModelFile, {}}, state{kOptimizerFile, optimizer.state()};
  for (const Parameter& p : parameters) {
    model.tensors.push_back(optimizer.has_average() ? optimizer.average(p) : weights_of(p, p.name));
    if (optimizer.has_average()) state.tensors.push_back(weights_of(p, kWeights + p.name));
  }
  return {std::move(model), std::move(state)};
}

// Throws if `weights` are not finite: a run that diverged must not replace its last good checkpoint.
Tensor finite(const std::string& name, Tensor weights) {
  require(all_finite(weights), "[checkpoint] ", name, " holds NaN or infinite weights; nothing was saved");
  return weights;
}

// Throws an Error unless the file of the optimizer has exactly these tensors.
void require_same_optimizer(const SafetensorsFile& file, const std::vector<StateTensor>& tensors) {
  std::set<std::string> missing, unexpected;
  for (const auto& entry : file.entries()) unexpected.insert(entry.name);
  for (const StateTensor& t : tensors)
    if (unexpected.erase(t.name) == 0) missing.insert(t.name);
  const auto some = [](const std::set<std::string>& names) {
    return names.empty() ? std::string("none") : concat(names.size(), " such as ", *names.begin());
  };
  require(missing.empty() && unexpected.empty(), "[checkpoint] ", file.path().string(),
          ": expected the state of this --optimizer with this --freeze, found that of another (tensors missing: ",
          some(missing), "; without use: ", some(unexpected),
          "): use the same options, or --reset-optimizer, which begins without the old state");
}

// Reads the tensors one by one from a file that must contain exactly these, apart from those that are skipped.
void read_tensors(
    const SafetensorsFile& file, const std::vector<StateTensor>& tensors, const Tensor& arena,
    const TargetName& target_name = [](const std::string& name) { return name; }) {
  std::vector<TensorRequest> requests;
  for (const StateTensor& t : tensors) {
    requests.push_back({t.name, t.shape, [&](const SafetensorsFile& from, const SafetensorsEntry& entry) {
                          const Tensor values = Tensor::empty(t.shape, arena.dtype(), arena.device());
                          from.read(entry, values);
                          t.write(values);
                        }});
  }
  load_tensors({&file, 1}, requests, target_name);
}

}  // namespace

CheckpointContent checkpoint_content(const Parameters& parameters, const Optimizer& optimizer, TrainState state) {
  state.optimizer_step = optimizer.step();
  state.moments_step = optimizer.moments_step();
  state.has_average = optimizer.has_average();
  state.version = kVersion;
  CheckpointContent content{std::move(state), {}};
  const DType dtype = parameters.values().dtype();
  for (const StateFile& file : state_files(parameters, optimizer)) {
    TensorFile& to = content.files.emplace_back(TensorFile{file.name, {}});
    for (const StateTensor& t : file.tensors) to.tensors.push_back({t.name, dtype, t.shape, t.read});
  }
  return content;
}

Path write_checkpoint(const RunDirectory& run, const CheckpointContent& content) {
  std::vector<TensorFile> files = content.files;
  for (TensorFile& file : files) {
    for (TensorSource& t : file.tensors) {
      if (file.name == kModelFile || t.name.starts_with(kWeights))
        t.read = [name = t.name, read = t.read] { return finite(name, read()); };
    }
  }
  const uint64_t updates = content.state.progress.updates;
  Path target = checkpoint_path(run.path(), updates);
  write_directory(target, [&](const Path& directory) {
    write_manifest(directory, to_json(content.state), files);
    run.notify(SaveStage::written, updates);
  });
  run.notify(SaveStage::renamed, updates);
  run.mark_last(target);
  run.notify(SaveStage::last, updates);
  return target;
}

TrainState load_checkpoint(const Path& checkpoint, Parameters& parameters, Optimizer& optimizer, bool moments) {
  TrainState state = read_train_state(checkpoint);
  if (state.has_average != optimizer.has_average()) {
    throw UsageError("[--ema] ", checkpoint.string(), " was written ", state.has_average ? "with" : "without",
                     " a moving average of the weights: expected --ema ", state.has_average ? "above 0" : "0");
  }
  for (const StateFile& state_file : state_files(parameters, optimizer)) {
    const SafetensorsFile file(checkpoint / state_file.name);
    const bool is_optimizer = state_file.name == kOptimizerFile;
    if (is_optimizer && !moments) {
      std::vector<StateTensor> weights = state_file.tensors;
      std::erase_if(weights, [](const StateTensor& t) { return !t.name.starts_with(kWeights); });
      const auto only_weights = [](const std::string& name) { return name.starts_with(kWeights) ? name : ""; };
      read_tensors(file, weights, parameters.values(), only_weights);
      continue;
    }
    if (is_optimizer) require_same_optimizer(file, state_file.tensors);
    read_tensors(file, state_file.tensors, parameters.values());
  }
  optimizer.set_steps(state.optimizer_step, moments ? state.moments_step : 0);
  return state;
}

TrainState read_train_state(const Path& checkpoint) {
  const Json state = read_manifest(checkpoint);
  require(state.contains("progress"), "[checkpoint] ", checkpoint.string(),
          ": expected the checkpoint of a training run, got one with weights only");
  try {
    return from_json(state);
  } catch (const Json::exception& error) {
    throw Error("[checkpoint] ", state_path(checkpoint).string(),
                ": expected the state of a run: ", json_reason(error));
  }
}

bool repair_best_link(const RunDirectory& run, const TrainState& state) {
  if (!state.best_checkpoint) return false;
  const Path checkpoint = checkpoint_path(run.path(), state.best_checkpoint->updates);
  if (!std::filesystem::is_directory(checkpoint)) return false;
  if (linked_checkpoint(run.path(), "best") != checkpoint) run.mark_best(checkpoint);
  return true;
}

std::optional<Resumable> find_resumable(const Path& run) {
  const std::vector<Path> all = list_checkpoints(run);
  if (all.empty()) return std::nullopt;
  Resumable found;
  for (auto checkpoint = all.rbegin(); checkpoint != all.rend(); ++checkpoint) {
    try {
      verify_manifest(*checkpoint);
      found.checkpoint = *checkpoint;
      return found;
    } catch (const Error& error) {
      found.skipped.push_back(concat(checkpoint->filename().string(), ": ", error.what()));
    }
  }
  throw Error("[checkpoint] ", run.string(), ": every checkpoint is broken (--overwrite starts over): of ", all.size(),
              ", the newest is ", found.skipped.front());
}

}  // namespace gyre
