#include "train/checkpoint.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/error.h"
#include "core/safetensors.h"
#include "core/version.h"
#include "train/manifest.h"

namespace gyre {

namespace {

using nlohmann::ordered_json;

constexpr const char* kModelFile = "model.safetensors";
constexpr const char* kOptimizerFile = "optimizer.safetensors";

// JSON has no infinity; a perplexity may be one.
ordered_json number_or_null(double value) { return std::isfinite(value) ? ordered_json(value) : ordered_json(nullptr); }
double null_is_infinite(const ordered_json& value) {
  return value.is_null() ? std::numeric_limits<double>::infinity() : value.get<double>();
}

ordered_json to_json(const TrainState& s) {
  ordered_json best = ordered_json::object();
  for (const auto& [name, metric] : s.best) {
    best[name] = {{"value", number_or_null(metric.value)}, {"updates", metric.updates}};
  }
  return {{"gyre", s.version},
          {"progress",
           {{"updates", s.progress.updates},
            {"epoch", s.progress.epoch},
            {"batch", s.progress.batch},
            {"target_tokens", s.progress.target_tokens},
            {"source_tokens", s.progress.source_tokens},
            {"sentences", s.progress.sentences}}},
          {"seconds", s.seconds},
          {"optimizer", {{"step", s.optimizer_step}, {"moving_average", s.has_average}}},
          {"validation", {{"stalled", s.stalled_validations}, {"best", best}}},
          {"seed", s.seed},
          {"shards", s.shards},
          {"ranks", s.ranks},
          {"deterministic", s.deterministic},
          {"kernels", s.kernels},
          {"options", s.options}};
}

TrainState from_json(const ordered_json& j) {
  TrainState s;
  s.version = j.at("gyre");
  const ordered_json& progress = j.at("progress");
  s.progress.updates = progress.at("updates");
  s.progress.epoch = progress.at("epoch");
  s.progress.batch = progress.at("batch");
  s.progress.target_tokens = progress.at("target_tokens");
  s.progress.source_tokens = progress.at("source_tokens");
  s.progress.sentences = progress.at("sentences");
  s.seconds = j.at("seconds");
  s.optimizer_step = j.at("optimizer").at("step");
  s.has_average = j.at("optimizer").at("moving_average");
  s.stalled_validations = j.at("validation").at("stalled");
  for (const auto& [name, metric] : j.at("validation").at("best").items()) {
    s.best[name] = {null_is_infinite(metric.at("value")), metric.at("updates")};
  }
  s.seed = j.at("seed");
  s.shards = j.at("shards");
  s.ranks = j.at("ranks");
  s.deterministic = j.at("deterministic");
  s.kernels = j.contains("kernels") ? j.at("kernels") : j.at("cpu_kernels");  // as it was called before there were GPUs
  s.options = j.at("options");
  if (auto renamed = s.options.extract("CPU kernels")) {
    renamed.key() = "kernels";
    s.options.insert(std::move(renamed));
  }
  return s;
}

// The tensors of both files, live: the same lists save and restore.
std::vector<TensorFile> tensor_files(const Parameters& parameters, const Optimizer& optimizer) {
  TensorFile model{kModelFile, {}}, state{kOptimizerFile, optimizer.moments()};
  for (const Parameter& p : parameters) {
    model.tensors.push_back({p.name, optimizer.has_average() ? optimizer.average(p) : p.value});
    if (optimizer.has_average()) state.tensors.push_back({"weights." + p.name, p.value});
  }
  return {std::move(model), std::move(state)};
}

// A run that diverged must not replace its last good checkpoint.
void require_finite(const Parameters& parameters) {
  const auto finite = [](auto values) {
    return std::all_of(values.begin(), values.end(), [](auto x) { return std::isfinite(x); });
  };
  for (const Parameter& p : parameters) {
    const Tensor value = p.value.to_cpu();
    const bool ok = value.dtype() == DType::f64 ? finite(value.span<double>()) : finite(value.span<float>());
    require(ok, "[checkpoint] ", p.name, " holds NaN or infinite weights; nothing was saved");
  }
}

}  // namespace

Path save_checkpoint(const RunDirectory& run, const Parameters& parameters, const Optimizer& optimizer,
                     TrainState state) {
  require_finite(parameters);
  state.optimizer_step = optimizer.step();
  state.has_average = optimizer.has_average();
  state.version = kVersion;
  const Path target = checkpoint_path(run.path(), state.progress.updates);
  write_directory(target, [&](const Path& directory) {
    write_manifest(directory, to_json(state), tensor_files(parameters, optimizer));
  });
  run.mark_last(target);
  return target;
}

TrainState load_checkpoint(const Path& checkpoint, Parameters& parameters, Optimizer& optimizer) {
  const TrainState state = read_train_state(checkpoint);
  if (state.has_average != optimizer.has_average()) {
    throw UsageError("[--ema] ", checkpoint.string(), " was written ", state.has_average ? "with" : "without",
                     " a moving average of the weights: expected --ema ", state.has_average ? "above 0" : "0");
  }
  for (const TensorFile& file : tensor_files(parameters, optimizer)) {
    read_safetensors(SafetensorsFile(checkpoint / file.name), file.tensors);
  }
  optimizer.set_step(state.optimizer_step);
  return state;
}

TrainState read_train_state(const Path& checkpoint) {
  const ordered_json state = read_manifest(checkpoint);
  require(state.contains("progress"), "[checkpoint] ", checkpoint.string(),
          ": expected the checkpoint of a training run, this one holds weights only");
  try {
    return from_json(state);
  } catch (const nlohmann::json::exception& error) {
    throw Error("[checkpoint] ", (checkpoint / "state.json").string(), ": ", error.what());
  }
}

void verify_checkpoint(const Path& checkpoint) { verify_manifest(checkpoint); }

std::optional<Resumable> find_resumable(const Path& run) {
  const std::vector<Path> all = list_checkpoints(run);
  if (all.empty()) return std::nullopt;
  Resumable found;
  for (auto checkpoint = all.rbegin(); checkpoint != all.rend(); ++checkpoint) {
    try {
      verify_checkpoint(*checkpoint);
      found.checkpoint = *checkpoint;
      return found;
    } catch (const Error& error) {
      found.skipped.push_back(concat(checkpoint->filename().string(), ": ", error.what()));
    }
  }
  std::string reasons;
  for (const std::string& reason : found.skipped) reasons += "\n  " + reason;
  throw Error("[checkpoint] ", run.string(), ": every checkpoint is broken (--overwrite starts anew):", reasons);
}

}  // namespace gyre
