#include "tools/page/run/run_summary.h"

#include <nlohmann/json.hpp>
#include <string>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/train/checkpoint/checkpoint.h"
#include "gyre/train/validation.h"
#include "tools/page/run/run_columns.h"

namespace gyre {
namespace {

bool begins_job(const Json& entry) { return entry["event"] == "start" || entry["event"] == "resume"; }

void keep_better(Json& best, const Json& entry) {
  for (const auto& [name, value] : entry.items()) {
    if (name == "loss" || !is_metric(name, value) || value.is_null()) continue;
    const bool is_better =
        !best.contains(name) || (higher_is_better(name) ? value > best[name]["value"] : value < best[name]["value"]);
    if (is_better) best[name] = {{"value", value}, {"updates", entry.value("updates", Json())}};
  }
}

void add_checkpoint(Json& environment, const Path& run) {
  const auto last = linked_checkpoint(run, "last");
  if (!last) return;
  try {
    const TrainState state = read_train_state(*last);
    environment["gyre"] = state.version;
    environment["kernels"] = state.kernels;
    const auto precision = state.options.find("precision");
    if (precision != state.options.end()) environment["precision"] = precision->second;
  } catch (const Error& error) {
    environment["checkpoint"] = error.what();
  }
}

}  // namespace

Json run_progress(const std::vector<Json>& entries) {
  constexpr const char* kNotEnded = "not ended: it is training or was killed";
  Json progress{{"state", kNotEnded}}, best = Json::object();
  for (const Json& entry : entries) {
    if (begins_job(entry)) progress["state"] = kNotEnded;
    if (entry["event"] == "end") progress["state"] = entry.value("reason", Json("ended"));
    if (entry["event"] == "valid") keep_better(best, entry);
    for (const char* name : {"updates", "target_tokens", "seconds", "tokens_per_second"})
      if (entry.contains(name) && entry[name].is_number()) progress[name] = entry[name];
  }
  progress["best"] = best;
  return progress;
}

Json run_environment(const Path& run, const std::vector<Json>& entries) {
  Json environment = Json::object();
  add_checkpoint(environment, run);
  for (const Json& entry : entries) {
    if (!begins_job(entry)) continue;
    for (const char* name : {"ranks", "shards", "seed", "deterministic"})
      if (entry.contains(name)) environment[name] = entry[name];
  }
  return environment;
}

}  // namespace gyre
