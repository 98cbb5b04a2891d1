#include "train/resume.h"

#include <spdlog/spdlog.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "core/error.h"
#include "core/file.h"
#include "models/config.h"

namespace gyre {
namespace {

using nlohmann::ordered_json;

std::string hexadecimal(uint64_t number) {
  std::ostringstream text;
  text << std::hex << number;
  return text.str();
}

// "seed 1 -> 2; ..." for the options whose values differ.
std::string differences(const RunOptions& saved, const RunOptions& now, bool essential) {
  std::set<std::string> names;
  for (const RunOptions* options : {&saved, &now}) {
    for (const auto& [name, value] : *options) names.insert(name);
  }
  const auto value = [](const RunOptions& options, const std::string& name) {
    const auto found = options.find(name);
    return found == options.end() ? std::string("(none)") : found->second;
  };
  std::string text;
  for (const std::string& name : names) {
    const std::string before = value(saved, name), after = value(now, name);
    if (name.starts_with('=') != essential || before == after) continue;
    if (name == "=shards" && saved.contains(name) != now.contains(name)) {
      const bool was_given = saved.contains(name);
      text += concat(text.empty() ? "" : "; ", "--deterministic was ", was_given ? "" : "not ", "given before, and is ",
                     was_given ? "not now" : "now");
      continue;
    }
    text += concat(text.empty() ? "" : "; ", essential ? name.substr(1) : name, " ", before, " -> ", after);
  }
  return text;
}

void compare_config(const RunDirectory& run, const ordered_json& now) {
  const ordered_json read = ordered_json::parse(read_file(run.config()), nullptr, false);
  require(!read.is_discarded(), "[resume] ", run.config().string(), " is not JSON");
  const ordered_json saved = with_defaults(read);
  std::string fields;
  for (const auto& change : ordered_json::diff(saved, now)) {
    const std::string path = change.at("path");
    const ordered_json::json_pointer at(path);
    fields += concat(fields.empty() ? "" : "; ", path.substr(1), " ", saved.contains(at) ? saved[at].dump() : "(none)",
                     " -> ", now.contains(at) ? now[at].dump() : "(none)");
  }
  require(fields.empty(), "[resume] ", run.path().string(), " holds a run of another model (", fields,
          "): give the same model options, another --model, or --overwrite");
}

// run/vocab.<extension of the original>; a file that already goes by such a name in the run directory is its own copy.
Path vocabulary_copy(const RunDirectory& run, const Path& original) {
  std::error_code ignored;
  const bool inside = std::filesystem::equivalent(original.parent_path() / ".", run.path(), ignored);
  if (inside && original.filename().string().starts_with("vocab.")) return original;
  return run.path() / ("vocab" + (original.has_extension() ? original.extension().string() : ".model"));
}

// The best checkpoint by the first metric, and the link to it.
void restore_best(const RunDirectory* run, Communicator& ranks, const TrainOptions& options, TrainState& state) {
  std::optional<BestCheckpoint>& best = state.best_checkpoint;
  if (options.validates() && (!best || best->metric != options.valid_metrics.front())) {
    // A checkpoint of an older version, or of a run with another first metric.
    const auto value = state.best.find(options.valid_metrics.front());
    best.reset();
    if (value != state.best.end()) best = {value->first, value->second.value, value->second.updates};
  }
  int64_t exists = run != nullptr && repair_best_link(*run, state) ? 1 : 0;
  ranks.broadcast(std::span<int64_t>(&exists, 1), 0);
  if (exists == 0) best.reset();
}

}  // namespace

RunOptions run_options(const TrainOptions& o, const OptimizerOptions& optimizer, Precision precision,
                       const TrainState& state, const Vocabulary& vocabulary, uint64_t data_fingerprint) {
  RunOptions options{{"=training data", hexadecimal(data_fingerprint)},
                     {"=vocabulary", hexadecimal(vocabulary.fingerprint())},
                     {"=seed", std::to_string(o.seed)},
                     {"=max-length", std::to_string(o.max_length)},
                     {"=mini-batch-words", std::to_string(o.batch_words)},
                     {"=batch-unit", o.batch_unit},
                     {"=maxi-batch", std::to_string(o.maxi_batch)},
                     {"=shuffle", o.shuffle},
                     {"deterministic", o.deterministic ? "on" : "off"},
                     {"optimizer", optimizer.kind},
                     {"learn-rate", concat(optimizer.learning_rate)},
                     {"optimizer-params", concat(optimizer.beta1, " ", optimizer.beta2, " ", optimizer.epsilon)},
                     {"weight-decay", concat(optimizer.weight_decay)},
                     {"clip-norm", concat(optimizer.clip_norm)},
                     {"ema", concat(optimizer.ema)},
                     {"lr-schedule", optimizer.schedule},
                     {"lr-warmup", std::to_string(optimizer.warmup)},
                     {"total-updates", std::to_string(optimizer.total_updates)},
                     {"precision", precision_name(precision)},
                     {"kernels", state.kernels}};
  // In deterministic mode the tree over the shards is part of the arithmetic, and ranks are not.
  options[o.deterministic ? "=shards" : "shards"] = std::to_string(state.shards);
  return options;
}

void require_same_run(const Path& checkpoint, const TrainState& saved, const TrainState& now) {
  const std::string essential = differences(saved.options, now.options, true);
  require(essential.empty(), "[resume] ", checkpoint.string(), " belongs to a run with other options (", essential,
          "): give the same ones, another --model, or --overwrite");
  RunOptions before = saved.options;
  // Checkpoints of earlier versions kept the word "auto", which may have meant either.
  if (const auto p = before.find("precision"); p != before.end() && p->second == "auto")
    p->second = now.options.at("precision");
  const std::string others = differences(before, now.options, false);
  if (!others.empty()) spdlog::warn("the run continues with other options, so not bit for bit: {}", others);
}

bool resume(const RunDirectory* run, Communicator& ranks, TrainingModel& model, Optimizer& optimizer, TrainState& state,
            const TrainOptions& options) {
  std::string checkpoint;
  if (run != nullptr) {
    if (const auto found = find_resumable(run->path())) {
      for (const std::string& reason : found->skipped) spdlog::warn("passed over a broken checkpoint: {}", reason);
      checkpoint = found->checkpoint.string();
      require_same_run(checkpoint, read_train_state(checkpoint), state);
      compare_config(*run, model.config());
    }
  }
  checkpoint = ranks.broadcast_text(std::move(checkpoint), 0);
  if (checkpoint.empty()) return false;
  TrainState saved = load_checkpoint(checkpoint, model.parameters(), optimizer, options.reload.optimizer);
  if (!options.reload.position) saved.progress.epoch = saved.progress.batch = 0;
  if (!options.reload.best) {
    saved.best.clear();
    saved.best_checkpoint.reset();
    saved.stalled_validations = 0;
  }
  restore_best(run, ranks, options, saved);
  saved.ranks = state.ranks;
  saved.shards = state.shards;
  saved.deterministic = state.deterministic;
  saved.kernels = state.kernels;
  saved.options = state.options;
  state = std::move(saved);
  return true;
}

void write_run_files(const RunDirectory& run, const TrainOptions& options, const TrainingModel& model,
                     const Vocabulary& vocabulary, const ordered_json& task) {
  write_file(run.config(), model.config().dump(2) + "\n");
  write_file(run.options(), options.resolved_toml);
  vocabulary.save(vocabulary_copy(run, options.vocabulary));
  if (!task.is_null()) write_file(run.task(), task.dump(2) + "\n");
}

void require_same_weights(Communicator& ranks, const Parameters& parameters) {
  const Tensor values = parameters.values().to_cpu();
  const int64_t own = crc32c(values.raw(), values.bytes());
  int64_t first = own;
  ranks.broadcast(std::span<int64_t>(&first, 1), 0);
  require(own == first, "[ranks] the weights of rank ", ranks.rank(), " differ from those of rank 0 (checksums ",
          hexadecimal(uint64_t(own)), " and ", hexadecimal(uint64_t(first)), "); nothing was saved");
}

}  // namespace gyre
