#include "gyre/train/reporter.h"

#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <exception>
#include <nlohmann/json.hpp>
#include <utility>

#include "gyre/core/io/json.h"
#include "gyre/core/number_text.h"
#include "gyre/train/log/metrics_log.h"

namespace gyre {
namespace {

double per_second(double amount, double seconds) { return seconds > 0 ? amount / seconds : 0; }

double mebibytes(uint64_t bytes) { return double(bytes) / double(1 << 20); }

// The fields of the metrics that are known, by name.
Json machine_fields(const MachineProgress& machine) {
  Json fields = Json::object();
  if (machine.flops_per_second > 0) fields["tflops"] = machine.flops_per_second / 1e12;
  if (machine.share > 0) fields["share"] = machine.share;
  if (machine.memory > 0) fields["memory_mb"] = mebibytes(machine.memory);
  if (machine.gpu > 0) fields["gpu_memory_mb"] = mebibytes(machine.gpu);
  return fields;
}

std::string tensorboard_tag(const std::string& metric) { return "valid/" + metric; }

// The last entry of each stage, by its number, that a run which continues after so many updates keeps; without the
// fields that all entries have. A damaged file has none: it must not end the run.
std::map<size_t, Json> stages_of(const Path& metrics, uint64_t updates) {
  std::map<size_t, Json> stages;
  try {
    for (Json& entry : read_metrics(metrics)) {
      if (entry["event"] != "stage" || entry.value("updates", uint64_t(0)) > updates) continue;
      const auto number = entry.value("stage", size_t(0));
      for (const char* field : {"time", "event", "updates", "seconds"}) entry.erase(field);
      stages[number] = std::move(entry);
    }
  } catch (const std::exception&) {
    stages.clear();
  }
  return stages;
}

std::string shares(const StepSeconds& s) {
  const double percent = 100 / std::max(s.data + s.compute + s.communication, 1e-9);
  return fmt::format("compute {:.1f} %, communication {:.1f} % (not hidden by backward), data {:.1f} %",
                     s.compute * percent, s.communication * percent, s.data * percent);
}

}  // namespace

Reporter::Reporter(const RunDirectory* run, const LoggingOptions& log, const StopOptions& stop,
                   std::string deciding_metric, const TrainState& state, Task task, Clock clock)
    : writes_(run != nullptr),
      end_(stop.after),
      task_(std::move(task)),
      deciding_metric_(std::move(deciding_metric)),
      early_stopping_(stop.early_stopping),
      clock_(std::move(clock)),
      start_(clock_()),
      goal_(goal(stop, state)),
      pace_(log.seconds) {
  const auto& [loss, nll, correct, tokens] = state.unreported;
  window_.sums = {loss, nll, correct, tokens};
  if (!run) return;
  const bool continues = std::filesystem::exists(run->metrics());
  metrics_.emplace(run->metrics());
  if (continues && !task_.stages.empty()) reported_stages_ = stages_of(run->metrics(), state.progress.updates);
  Json job{{"seed", state.seed},
           {"ranks", state.ranks},
           {"shards", state.micro_batches},
           {"deterministic", state.deterministic}};
  if (task_.limit.flops > 0) job["limit_tflops"] = task_.limit.flops / 1e12;
  job["limit_source"] = task_.limit.source;
  append_entry(continues ? "resume" : "start", state, job);
  events_.emplace(run->path());
  if (continues) events_->session_start(int64_t(state.progress.updates) + 1);
  // The lengths of finished stages may have changed since the last job.
  for (size_t i = 0; i < task_.stages.size() && task_.stages[i].end() <= state.progress.updates; ++i)
    append_stage(state, i);
  report_stage(state);
  if (!log.quiet) line_.emplace(goal_);
}

Goal Reporter::goal(const StopOptions& stop, const TrainState& state) const {
  const uint64_t unit = end_.unit == Period::Unit::epochs ? task_.batches_per_epoch : 1;
  Goal goal{.total = int64_t(end_.amount * unit), .first = position(state.progress)};
  if (stop.minutes) goal.limit_seconds = 60 * *stop.minutes - state.seconds;
  return goal;
}

int64_t Reporter::position(const Progress& progress) const {
  const bool in_epochs = end_.unit == Period::Unit::epochs;
  return int64_t(in_epochs ? progress.epoch * task_.batches_per_epoch + progress.batch : end_.count(progress));
}

void Reporter::append_entry(const std::string& event, const TrainState& state, const Json& values) {
  Json entry{{"time", utc_text(wall_clock())}, {"event", event}, {"updates", state.progress.updates}};
  entry.update(values);
  entry["seconds"] = state.seconds;
  metrics_->append(entry);
}

void Reporter::updated(const TrainState& state, uint64_t epoch, const StepResult& result, uint64_t tokens,
                       double seconds) {
  if (!writes_) return;
  tokens_ += tokens;
  seconds_ += seconds;
  flops_ += result.flops;
  window_.epoch = epoch;
  window_.flops += result.flops;
  window_.tokens += tokens;
  window_.seconds += seconds;
  window_.gradient_norm = result.update.gradient_norm;
  window_.learning_rate = result.update.learning_rate;
  if (result.update.accepted) window_.sums.add(result.sums);
  if (line_) {
    line_->show(position(state.progress),
                fmt::format("Ep. {} : Up. {} : {:.0f} tokens/s{}", epoch, state.progress.updates,
                            per_second(double(window_.tokens), window_.seconds),
                            format_machine(machine_progress(window_.flops, window_.seconds))));
  }
}

// The FLOPs that were computed in these seconds, and the memory.
MachineProgress Reporter::machine_progress(double flops, double seconds) const {
  const double rate = per_second(flops, seconds), limit = task_.limit.flops;
  return {
      .flops_per_second = rate, .share = limit > 0 ? rate / limit : 0, .memory = memory_.process, .gpu = memory_.gpu};
}

void Reporter::progress(const TrainState& state, bool is_due) {
  if (!writes_) return;
  if (is_due || pace_.due(clock_() - start_)) {
    memory_ = memory_use(task_.device);
    log_progress(state);
  }
  if (!is_due) return;
  write_metrics(state);
  window_ = {};
}

void Reporter::log_progress(const TrainState& state) {
  const double elapsed = clock_() - start_, tokens = window_.sums.tokens;
  pace_.shown(elapsed);
  spdlog::info(format_progress({.epoch = int64_t(window_.epoch),
                                .updates = int64_t(state.progress.updates),
                                .item = task_.item,
                                .count = int64_t(state.progress.sentences),
                                .cost = tokens > 0 ? std::optional(window_.sums.loss / tokens) : std::nullopt,
                                .seconds = window_.seconds,
                                .tokens_per_second = per_second(double(window_.tokens), window_.seconds),
                                .gradient_norm = window_.gradient_norm,
                                .learning_rate = window_.learning_rate,
                                .machine = machine_progress(window_.flops, window_.seconds),
                                .seconds_left = goal_.seconds_left(position(state.progress), elapsed)}));
}

void Reporter::write_metrics(const TrainState& state) {
  const LossSums& sums = window_.sums;
  const double rate = per_second(double(window_.tokens), window_.seconds);
  const auto updates = int64_t(state.progress.updates);
  Json entry{{"epoch", window_.epoch}};
  if (sums.tokens > 0) {
    entry.update({{"loss", sums.loss / sums.tokens}, {task_.loss_name, sums.nll / sums.tokens}});
    if (task_.loss_name == "cross-entropy") entry["accuracy"] = sums.correct / sums.tokens;
    events_->scalar("train/loss", sums.loss / sums.tokens, updates);
    events_->scalar("train/" + task_.loss_name, sums.nll / sums.tokens, updates);
  }
  entry.update({{"learning_rate", window_.learning_rate},
                {"gradient_norm", window_.gradient_norm},
                {"tokens_per_second", rate},
                {"target_tokens", state.progress.target_tokens}});
  const Json machine = machine_fields(machine_progress(window_.flops, window_.seconds));
  entry.update(machine);
  append_entry("train", state, entry);
  events_->scalar("train/learning_rate", window_.learning_rate, updates);
  events_->scalar("train/gradient_norm", window_.gradient_norm, updates);
  events_->scalar("train/tokens_per_second", rate, updates);
  for (const auto& [name, value] : machine.items()) events_->scalar("train/" + name, value.get<double>(), updates);
  events_->flush();
}

void Reporter::validated(const TrainState& state, const ValidationResult& result, bool improved) {
  if (!writes_) return;
  const int64_t updates = int64_t(state.progress.updates);
  Json entry{{"loss", result.loss}};
  std::string text;
  for (const auto& [name, value] : result.metrics) {
    entry[name] = value;
    events_->scalar(tensorboard_tag(name), value, updates);
    text += fmt::format("{} {:.4f} : ", name, value);
  }
  for (const auto& [source, reference, output] : result.samples)
    entry["samples"].push_back({{"source", source}, {"reference", reference}, {"output", output}});
  entry["validation_seconds"] = result.seconds;
  append_entry("valid", state, entry);
  events_->flush();
  spdlog::info("[valid] Up. {} : {}{:.1f}s : {}", updates, text, result.seconds, describe_improvement(state, improved));
  warn_of_low_bleu(result);
}

// "new best cross-entropy", "bleu stalled 2 of 5 times"
std::string Reporter::describe_improvement(const TrainState& state, bool improved) const {
  if (improved) return "new best " + deciding_metric_;
  const std::string most = early_stopping_ > 0 ? fmt::format(" of {}", early_stopping_) : "";
  return fmt::format("{} stalled {}{} times", deciding_metric_, state.validations_without_improvement, most);
}

void Reporter::warn_of_low_bleu(const ValidationResult& result) {
  const auto bleu = result.metrics.find("bleu");
  if (deciding_metric_ != "bleu" || warned_of_low_bleu_ || bleu == result.metrics.end() || bleu->second >= 1) return;
  warned_of_low_bleu_ = true;
  spdlog::warn(
      "bleu selects the best checkpoint, but below 1 it is noise; cross-entropy is better at this point: "
      "--valid-metrics cross-entropy bleu");
}

void Reporter::ended(const TrainState& state, const std::string& reason, const std::vector<StepSeconds>& ranks) {
  if (!writes_) return;
  clear_line();
  Json best = Json::object();
  for (const auto& [name, metric] : state.best) best[name] = metric.value;
  const double rate = per_second(double(tokens_), seconds_);
  const MachineProgress machine = machine_progress(flops_, seconds_);
  Json split = Json::array();
  for (const StepSeconds& s : ranks)
    split.push_back({{"compute", s.compute}, {"communication", s.communication}, {"data", s.data}});
  Json entry{{"reason", reason},
             {"tokens_per_second", rate},
             {"source_tokens", state.progress.source_tokens},
             {"target_tokens", state.progress.target_tokens},
             {"rank_seconds", split},
             {"best", best}};
  entry.update(machine_fields(machine));
  append_entry("end", state, entry);
  spdlog::info("Ended after {}, {} ({}): {:.0f} tokens/s{}", counted(state.progress.updates, "update"),
               format_duration(state.seconds), reason, rate, format_machine(machine));
  for (size_t rank = 0; rank < ranks.size(); ++rank) spdlog::info("time of rank {}: {}", rank, shares(ranks[rank]));
}

void Reporter::report_stage(const TrainState& state) {
  if (!writes_) return;
  const std::vector<RunStage>& stages = task_.stages;
  const uint64_t updates = state.progress.updates;
  for (size_t i = 0; i < stages.size(); ++i) {
    const RunStage& stage = stages[i];
    if (updates < stage.begin || updates >= stage.end()) continue;
    append_stage(state, i);
    spdlog::info("[stage] {} of {} : {} : {}s of up to {} tokens : {} {} per update", i + 1, stages.size(),
                 counted(stage.updates, "update"), task_.item, stage.max_length, stage.batch.size,
                 stage.batch.unit == BatchUnit::sentences ? task_.item + "s" : "tokens");
  }
}

void Reporter::append_stage(const TrainState& state, size_t number) {
  const RunStage& stage = task_.stages[number];
  const Json entry{{"stage", number + 1},
                   {"stages", task_.stages.size()},
                   {"begin", stage.begin},
                   {"stage_updates", stage.updates},
                   {"max_length", stage.max_length},
                   {"batch", stage.batch.size},
                   {"batch_unit", std::string(enum_name(stage.batch.unit))}};
  if (std::exchange(reported_stages_[number + 1], entry) != entry) append_entry("stage", state, entry);
}

void Reporter::clear_line() {
  if (line_) line_->clear();
}

}  // namespace gyre
