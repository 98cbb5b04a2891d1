#include "train/trainer.h"

#include <spdlog/spdlog.h>

#include <array>
#include <cmath>

#include "core/error.h"
#include "train/resume.h"

namespace gyre {
namespace {

constexpr int kMostSkipped = 10;

// How many periods have passed.
uint64_t passed(const Period& period, const Progress& progress) {
  if (period.amount == 0) return 0;
  switch (period.unit) {
    case Period::Unit::updates:
      return progress.updates / period.amount;
    case Period::Unit::epochs:
      return progress.epoch / period.amount;
    case Period::Unit::target_tokens:
      return progress.target_tokens / period.amount;
  }
  return 0;
}

}  // namespace

Trainer::Trainer(const TrainerParts& parts, TrainState state)
    : parts_(parts), state_(std::move(state)), before_(state_.progress), seconds_before_(state_.seconds) {}

void Trainer::run() {
  const TrainOptions& options = parts_.options;
  while (end_reason().empty()) {
    update();
    state_.seconds = trained_seconds();
    if (due(options.display_every)) parts_.reporter.progress(state_);
    // At the end too; but a signal may leave little time: then only save.
    const bool validates = parts_.validation != nullptr && stop_ != StopWish::signal;
    if (validates && (due(options.validate_every) || !end_reason().empty())) validate();
    if (improved_ || due(options.save_every) || !end_reason().empty()) save();
  }
  parts_.reporter.ended(state_, end_reason(), mean_seconds());
}

void Trainer::update() {
  Stopwatch watch;
  Progress& progress = state_.progress;
  before_ = progress;
  const RankBatch batch = take_batch();
  seconds_.data += watch.seconds();
  const StepResult result = parts_.step.run(progress.updates, batch, own_wish(), seconds_);
  stop_ = result.stop;

  ++progress.updates;
  progress.sentences += batch.sentences;
  progress.source_tokens += batch.source_tokens;
  progress.target_tokens += batch.target_tokens;
  if (++progress.batch == parts_.data.batches()) {
    progress.batch = 0;
    ++progress.epoch;
  }
  count_skipped(result.update);
  parts_.reporter.updated(state_, before_.epoch + 1, result, batch.source_tokens + batch.target_tokens,
                          watch.seconds());
}

RankBatch Trainer::take_batch() {
  const TrainingData& data = parts_.data;
  const ShardRange own = parts_.step.own_shards();
  const size_t now = state_.progress.batch;
  parts_.data.start_epoch(state_.progress.epoch);
  RankBatch batch = next_batch_.valid() ? next_batch_.get() : data.batch(now, own);
  if (now + 1 < data.batches()) {
    next_batch_ = std::async(std::launch::async, [&data, own, next = now + 1] { return data.batch(next, own); });
  }
  return batch;
}

// The norm is that of the reduced gradient, so all ranks skip or go on together.
void Trainer::count_skipped(const UpdateInfo& info) {
  if (info.finite) {
    skipped_in_a_row_ = 0;
    return;
  }
  ++skipped_in_a_row_;
  if (parts_.ranks.rank() == 0) {
    spdlog::warn("update {} was skipped: the norm of the gradient is {} ({} in a row)", state_.progress.updates,
                 info.gradient_norm, skipped_in_a_row_);
  }
  require(skipped_in_a_row_ < kMostSkipped, "[train] the gradient was not finite in ", kMostSkipped,
          " updates in a row, up to update ", state_.progress.updates,
          ": training has diverged; continue from the last checkpoint with a lower --learn-rate or with --clip-norm");
}

StopWish Trainer::own_wish() const {
  if (signal_.raised()) return StopWish::signal;
  return is_out_of_time(trained_seconds()) ? StopWish::out_of_time : StopWish::none;
}

bool Trainer::is_out_of_time(double seconds) const {
  const auto& minutes = parts_.options.stop_after_time_minutes;
  return minutes && seconds >= 60 * double(*minutes);
}

std::string Trainer::end_reason() const {
  const TrainOptions& options = parts_.options;
  if (state_.progress.reached(options.after)) return "reached --after " + options.after.text();
  if (options.early_stopping > 0 && state_.stalled_validations >= options.early_stopping) return "early stopping";
  if (stop_ == StopWish::signal) return "stopped by a signal: the same command continues the run";
  // The clocks of the ranks differ, so one asks all to stop; what earlier jobs took is known to all.
  if (stop_ == StopWish::out_of_time || is_out_of_time(seconds_before_)) return "reached --stop-after-minutes";
  return "";
}

bool Trainer::due(const Period& period) const { return passed(period, state_.progress) > passed(period, before_); }

void Trainer::validate() {
  parts_.reporter.clear_line();
  ValidationResult result;
  {
    const AverageScope average(parts_.optimizer);
    result = parts_.validation->run();
  }
  improved_ = note(result);
  state_.seconds = trained_seconds();
  parts_.reporter.validated(state_, result, improved_);
}

// Keeps the best of every metric; whether the first one got better.
bool Trainer::note(const ValidationResult& result) {
  bool improved = false;
  const std::string& first = parts_.options.valid_metrics.front();
  for (const auto& [name, value] : result.metrics) {
    const auto best = state_.best.find(name);
    const bool better = best == state_.best.end() ? !std::isnan(value)
                        : higher_is_better(name)  ? value > best->second.value
                                                  : value < best->second.value;
    if (better) state_.best[name] = {value, state_.progress.updates};
    if (name == first) improved = better;
  }
  state_.stalled_validations = improved ? 0 : state_.stalled_validations + 1;
  return improved;
}

void Trainer::save() {
  require_same_weights(parts_.ranks, parts_.parameters);
  state_.seconds = trained_seconds();
  if (parts_.run != nullptr) {
    const Path checkpoint = save_checkpoint(*parts_.run, parts_.parameters, parts_.optimizer, state_);
    if (improved_) parts_.run->mark_best(checkpoint);
    parts_.run->prune(parts_.options.keep_last);
    spdlog::info("saved {}{}", checkpoint.string(), improved_ ? " (best)" : "");
  }
  improved_ = false;
}

StepSeconds Trainer::mean_seconds() const {
  std::array<double, 3> sums{seconds_.data, seconds_.compute, seconds_.communication};
  parts_.ranks.all_reduce(std::span<double>(sums));
  const double n = parts_.ranks.size();
  return {sums[0] / n, sums[1] / n, sums[2] / n};
}

}  // namespace gyre
