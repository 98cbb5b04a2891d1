#include "gyre/train/resume.h"

#include <spdlog/spdlog.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>

#include "gyre/core/error.h"
#include "gyre/core/io/file.h"
#include "gyre/core/io/json.h"
#include "gyre/models/config/config.h"

namespace gyre {
namespace {

// The options that a change of this effect belongs to; nullptr if runs are not compared by it.
OptionTexts* options_of(RunOptions& options, OnResume effect) {
  if (effect == OnResume::other_data) return &options.of_data;
  return effect == OnResume::other_bits ? &options.of_bits : nullptr;
}

// Whether a checkpoint of an earlier version cannot be compared by the option. Those lack two options, whatever their
// values were, and have the learning rates of stages under another name, in other words.
bool has_no_value_of(const std::string& name, const OptionTexts& saved) {
  if (name.ends_with(", learning rate")) return true;
  const bool is_new = name == "gradient-dtype" || name == "lr-warmup-start-rate" || name.ends_with(kStageRates);
  return is_new && !saved.contains(name);
}

// With --deterministic, the number of micro-batches is among the options of the data, and otherwise among those of the
// bits. Removes a number that only one of both runs has there, since nothing can be compared with it. Returns what a
// run that changes --deterministic is told.
std::string take_change_of_determinism(RunOptions& saved, RunOptions& now) {
  const auto has_one = [](const OptionTexts& options) { return options.contains(kMicroBatchesOption); };
  const bool was_given = has_one(saved.of_data), is_given = has_one(now.of_data);
  if (has_one(saved.of_bits) != has_one(now.of_bits))
    for (RunOptions* options : {&saved, &now}) options->of_bits.erase(kMicroBatchesOption);
  if (was_given == is_given) return "";
  for (RunOptions* options : {&saved, &now}) options->of_data.erase(kMicroBatchesOption);
  return concat("--deterministic was ", was_given ? "" : "not ", "given before, and is ", is_given ? "now" : "not now");
}

// "seed 1 -> 2; ..." for the options whose values differ.
std::string differences(const OptionTexts& saved, const OptionTexts& now, const OptionTexts& defaults) {
  std::set<std::string> names;
  for (const OptionTexts* options : {&saved, &now}) {
    for (const auto& [name, value] : *options) names.insert(name);
  }
  const auto find = [](const OptionTexts& options, const std::string& name, const std::string& otherwise) {
    const auto found = options.find(name);
    const std::string& value = found == options.end() ? otherwise : found->second;
    return value.empty() ? std::string("(none)") : value;
  };
  std::string text;
  for (const std::string& name : names) {
    const bool is_read = now.contains(name) || !defaults.contains(name);
    if (!is_read || has_no_value_of(name, saved)) continue;
    const std::string before = find(saved, name, find(defaults, name, "(none)")), after = find(now, name, "(none)");
    if (before == after) continue;
    text += concat(text.empty() ? "" : "; ", name, " ", before, " -> ", after);
  }
  return text;
}

void warn_of_changes(const std::string& changes) {
  if (!changes.empty()) spdlog::warn("the run continues with other options, so its bits may differ: {}", changes);
}

void compare_config(const RunDirectory& run, const Json& now) {
  const Json read = parse_ordered_json(read_file(run.config()), kMaxJsonDepth,
                                       concat("[resume] ", run.config().string(), ": "), "it");
  ConfigChanges changes;
  try {
    changes = config_changes(with_defaults(read), now);
  } catch (const Error& error) {
    throw Error("[resume] ", run.config().string(), ": ", error.what());
  }
  require(changes.of_model.empty(), "[resume] ", run.path().string(), " holds a run of another model (",
          changes.of_model, "): use the same model options, another --model, or --overwrite");
  warn_of_changes(changes.of_training);
}

// "valid-sets 1a -> 2b; ..." for the values that differ. An option that only one of both has, such as the beam size of
// a run that did not translate, concerns no value that both have.
std::string basis_changes(const ValidationBasis& before, const ValidationBasis& now) {
  std::string text;
  for (const auto& [name, value] : now) {
    const auto then = before.find(name);
    if (then == before.end() || then->second == value) continue;
    text += concat(text.empty() ? "" : "; ", name, " ", then->second, " -> ", value);
  }
  return text;
}

// Forgets the values that the next validation cannot be compared with: all of them if the data or the options of the
// validation have changed; the count of validations without improvement if another metric decides. Returns a warning,
// or an empty text.
std::string forget_incomparable(TrainState& saved, const ValidationBasis& now, const std::string& deciding_metric) {
  if (deciding_metric.empty()) return "";
  const std::string changes = basis_changes(saved.validation_basis, now);
  ValidationBasis basis = now;
  basis.merge(saved.validation_basis);  // keeps what only later validations may have again, such as a beam size
  saved.validation_basis = std::move(basis);
  const bool had_values = !saved.best.empty();
  if (!changes.empty()) {
    saved.forget_validations();
    if (!had_values) return "";
    return concat("the validation has changed, so the best values and the patience start anew (", changes,
                  "); the link best stays where it is until the next validation");
  }
  const auto& best = saved.best_checkpoint;
  if (!best || best->metric == deciding_metric) return "";
  saved.validations_without_improvement = 0;
  return concat(deciding_metric, " instead of ", best->metric,
                " selects the best checkpoint, so the patience starts anew");
}

// Restores the best checkpoint by this metric, and the link to it.
void restore_best(const RunDirectory* run, Communicator& ranks, const std::string& deciding_metric, TrainState& state) {
  std::optional<BestCheckpoint>& best = state.best_checkpoint;
  if (!deciding_metric.empty() && (!best || best->metric != deciding_metric)) {
    // The checkpoint is from a job with another first metric, or without validation.
    const auto value = state.best.find(deciding_metric);
    best.reset();
    if (value != state.best.end()) best = {value->first, value->second.value, value->second.updates};
  }
  int64_t exists = run != nullptr && repair_best_link(*run, state) ? 1 : 0;
  ranks.broadcast(std::span<int64_t>(&exists, 1), 0);
  if (exists == 0) best.reset();
}

}  // namespace

// A later list, such as the resolved schedule, replaces what an earlier one said, also that an option is read.
void RunIdentity::add(const OptionList& values, const OptionList& default_values) {
  for (const auto& [option, on_resume, group] : default_values.entries())
    if (OptionTexts* texts = options_of(defaults, on_resume)) (*texts)[option.name()] = option.value.text();
  for (const auto& [option, on_resume, group] : values.entries()) {
    OptionTexts* texts = options_of(options, on_resume);
    if (texts == nullptr) continue;
    texts->erase(option.name());
    if (option.is_read()) (*texts)[option.name()] = option.value.text();
  }
}

ConfigChanges config_changes(const Json& before, const Json& now) {
  ConfigChanges changes;
  std::set<std::string> named;
  for (const auto& change : Json::diff(before, now)) {
    Json::json_pointer at(change.at("path").get<std::string>());
    const auto is_in_list = [&](const Json& config) {
      return config.contains(at.parent_pointer()) && config[at.parent_pointer()].is_array();
    };
    while (!at.empty() && (is_in_list(before) || is_in_list(now))) at.pop_back();  // a list is named as a whole
    const std::string path = at.to_string();
    if (!named.insert(path).second) continue;
    const bool is_of_training = config_change_on_resume(path.substr(1)) == OnResume::other_bits;
    std::string& text = is_of_training ? changes.of_training : changes.of_model;
    text += concat(text.empty() ? "" : "; ", path.substr(1), " ", before.contains(at) ? before[at].dump() : "(none)",
                   " -> ", now.contains(at) ? now[at].dump() : "(none)");
  }
  return changes;
}

RunChanges run_changes(const TrainState& saved, const RunIdentity& now) {
  const uint64_t finished = saved.progress.updates;
  RunOptions before = without_later_stages(saved.options, finished);
  RunOptions current = without_later_stages(now.options, finished);
  remove_open_ends(before.of_data, current.of_data, finished);
  RunChanges changes{.refused = take_change_of_determinism(before, current), .of_bits = {}};
  const std::string of_data = differences(before.of_data, current.of_data, now.defaults.of_data);
  changes.refused += concat(changes.refused.empty() || of_data.empty() ? "" : "; ", of_data);
  changes.of_bits = differences(before.of_bits, current.of_bits, now.defaults.of_bits);
  return changes;
}

void require_same_run(const Path& checkpoint, const TrainState& saved, const RunIdentity& now) {
  const RunChanges changes = run_changes(saved, now);
  require(changes.refused.empty(), "[resume] ", checkpoint.string(), " belongs to a run with other options (",
          changes.refused, "): use the same options, another --model, or --overwrite");
  warn_of_changes(changes.of_bits);
}

bool resume(const RunDirectory* run, Communicator& ranks, TrainingModel& model, Optimizer& optimizer,
            const RunIdentity& identity, TrainState& state, const Reload& reload, const std::string& deciding_metric) {
  std::string checkpoint;
  if (run != nullptr) {
    if (const auto found = find_resumable(run->path())) {
      for (const std::string& reason : found->skipped) spdlog::warn("skipped a broken checkpoint: {}", reason);
      checkpoint = found->checkpoint.string();
      require_same_run(checkpoint, read_train_state(checkpoint), identity);
      compare_config(*run, model.config());
    }
  }
  checkpoint = ranks.broadcast_text(std::move(checkpoint), 0);
  if (checkpoint.empty()) return false;
  TrainState saved = load_checkpoint(checkpoint, model.parameters(), optimizer, reload.optimizer);
  if (!reload.position) saved.progress.epoch = saved.progress.batch = 0;
  if (!reload.best) saved.forget_validations();
  const std::string warning = forget_incomparable(saved, state.validation_basis, deciding_metric);
  if (run != nullptr && !warning.empty()) spdlog::warn("{}", warning);
  restore_best(run, ranks, deciding_metric, saved);
  saved.ranks = state.ranks;
  saved.micro_batches = state.micro_batches;
  saved.deterministic = state.deterministic;
  saved.kernels = state.kernels;
  saved.options = state.options;
  state = std::move(saved);
  return true;
}

}  // namespace gyre
