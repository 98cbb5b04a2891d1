#include "train/trainer.h"

#include <spdlog/spdlog.h>

#include <array>
#include <cmath>
#include <utility>

#include "core/error.h"
#include "train/resume.h"
#include "train/stop_signal.h"

namespace gyre {
namespace {

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

// Than an earlier one, if there was one.
bool is_better(const std::string& metric, double value, const double* earlier) {
  if (earlier == nullptr) return !std::isnan(value);
  return higher_is_better(metric) ? value > *earlier : value < *earlier;
}

}  // namespace

Trainer::Trainer(const TrainerParts& parts, TrainState state)
    : parts_(parts),
      state_(std::move(state)),
      before_(state_.progress),
      seconds_before_(state_.seconds),
      writer_(parts.run, {.in_background = parts.options.save_in_background,
                          .keep_last = parts.options.keep_last,
                          .keep_every = parts.options.keep_every}) {}

void Trainer::run() {
  const TrainOptions& options = parts_.options;
  if (state_.validation_due && parts_.validation != nullptr) {
    validate();
    save();
  }
  while (end_reason().empty()) {
    update();
    state_.seconds = trained_seconds();
    writer_.look();
    parts_.reporter.progress(state_, due(options.display_every));
    state_.validation_due = validation_is_due();
    // A signal may leave little time: the job that continues the run begins with the validation.
    if (state_.validation_due && stop_ != StopWish::signal) validate();
    if (improved_ || due(options.save_every) || !end_reason().empty()) save();
  }
  writer_.finish();
  parts_.ranks.enter(Phase::end, state_.progress.updates);
  parts_.reporter.ended(state_, end_reason(), seconds_of_ranks());
}

void Trainer::update() {
  const Stopwatch watch;
  Progress& progress = state_.progress;
  before_ = progress;
  StepResult result;
  try {
    const auto take = [this]() -> const RankBatch& {
      take_batch();
      return batch_;
    };
    result = parts_.step.run(progress.updates, take, own_wish(), seconds_);
  } catch (const RankError&) {
    rescue();
    throw;
  }
  stop_ = result.stop;
  if (result.sums.tokens > 0) {
    count_skipped(result.update);
  } else {
    tell_of_empty_batch();
  }

  count(progress, batch_, parts_.data.batches());
  parts_.reporter.updated(state_, before_.epoch + 1, result, batch_.source_tokens + batch_.target_tokens,
                          watch.seconds());
}

void Trainer::take_batch() {
  const TrainingData& data = parts_.data;
  const ShardRange own = parts_.step.own_shards();
  const size_t now = state_.progress.batch;
  parts_.data.start_epoch(state_.progress.epoch);
  batch_ = next_batch_.valid() ? next_batch_.get() : data.batch(now, own);
  if (now + 1 < data.batches()) {
    next_batch_ = std::async(std::launch::async, [&data, own, next = now + 1] { return data.batch(next, own); });
  }
}

// An update has failed that no rank has applied: the state before it is whole. Errors from the optimizer on, and those
// of communication, do not come here: weights may have changed, or ranks may not answer.
void Trainer::rescue() noexcept {
  try {
    if (before_.updates > 0) save();
    writer_.finish();
  } catch (const std::exception& error) {
    spdlog::error("the state before the failed update could not be saved: {}", error.what());
  }
}

// The norm is that of the reduced gradient, so all ranks skip or go on together.
void Trainer::count_skipped(const UpdateInfo& info) {
  if (info.finite) {
    skipped_in_a_row_ = 0;
    return;
  }
  ++skipped_in_a_row_;
  const uint64_t update = state_.progress.updates + 1;
  if (parts_.ranks.rank() == 0) {
    spdlog::warn("update {} was skipped: the norm of the gradient is {} ({} in a row)", update, info.gradient_norm,
                 skipped_in_a_row_);
  }
  if (skipped_in_a_row_ <= parts_.options.most_skipped) return;
  require(
      !std::isfinite(info.gradient_norm), "[train] the norm of the gradient was ", info.gradient_norm, " in update ",
      update, ", too large for Adam's second moment, and ", skipped_in_a_row_,
      " updates in a row were skipped (--max-skipped): training has diverged; continue from the last checkpoint with "
      "a lower --learn-rate or with --clip-norm");
  const std::string culprit = parts_.step.find_non_finite(state_.progress.updates, batch_);
  throw Error("[train] the gradient was not finite in ", skipped_in_a_row_, " updates in a row, up to update ", update,
              " (--max-skipped): training has diverged; continue from the last checkpoint with a lower --learn-rate or "
              "with --clip-norm. In the last of them, ",
              culprit);
}

// Once: with short samples and few masks there may be many.
void Trainer::tell_of_empty_batch() {
  if (told_of_empty_batch_ || parts_.ranks.rank() != 0) return;
  told_of_empty_batch_ = true;
  spdlog::warn(
      "update {} has nothing to predict, so weights and moments stay as they are; further ones are not reported",
      state_.progress.updates + 1);
}

StopWish Trainer::own_wish() {
  if (const char* name = StopSignal::raised()) {
    if (!told_of_signal_)
      spdlog::warn("{} came: the run saves and ends after update {}", name, state_.progress.updates + 1);
    told_of_signal_ = true;
    return StopWish::signal;
  }
  return is_out_of_time(trained_seconds()) ? StopWish::out_of_time : StopWish::none;
}

bool Trainer::is_out_of_time(double seconds) const {
  const auto& minutes = parts_.options.stop_after_time_minutes;
  return minutes && seconds >= 60 * *minutes;
}

std::string Trainer::end_reason() const {
  const TrainOptions& options = parts_.options;
  const char* const signal = "stopped by a signal: the same command continues the run";
  if (stop_ == StopWish::signal && state_.validation_due) return signal;
  if (state_.progress.reached(options.after)) return "reached --after " + options.after.text();
  if (options.early_stopping > 0 && state_.stalled_validations >= options.early_stopping) return "early stopping";
  if (stop_ == StopWish::signal) return signal;
  // The clocks of the ranks differ, so one asks all to stop; what earlier jobs took is known to all.
  if (stop_ == StopWish::out_of_time || is_out_of_time(seconds_before_))
    return "reached --stop-after-minutes, over all jobs of the run";
  return "";
}

bool Trainer::due(const Period& period) const { return passed(period, state_.progress) > passed(period, before_); }

// At the end too; a signal is not the end of the run.
bool Trainer::validation_is_due() const {
  if (parts_.validation == nullptr) return false;
  const bool ends = stop_ == StopWish::signal ? state_.progress.reached(parts_.options.after) : !end_reason().empty();
  return ends || due(parts_.options.validate_every);
}

void Trainer::validate() {
  confirm_best();
  parts_.reporter.clear_line();
  parts_.ranks.enter(Phase::validation, state_.progress.updates);
  ValidationResult result;
  {
    const AverageScope average(parts_.optimizer);
    result = parts_.validation->run();
  }
  const bool is_best = note(result);
  state_.validation_due = false;
  state_.seconds = trained_seconds();
  parts_.reporter.validated(state_, result, is_best);
}

// Keeps the best of every metric; whether the first one got better. Also where it did not, it may be better than what
// stands as the best checkpoint, if a better one could not be written.
bool Trainer::note(const ValidationResult& result) {
  bool improved = false;
  const std::string& first = parts_.options.valid_metrics.front();
  const uint64_t updates = state_.progress.updates;
  for (const auto& [name, value] : result.metrics) {
    const auto best = state_.best.find(name);
    const bool better = is_better(name, value, best == state_.best.end() ? nullptr : &best->second.value);
    if (better) state_.best[name] = {value, updates};
    if (name != first) continue;
    improved = better;
    const auto& saved = state_.best_checkpoint;
    if (is_better(name, value, saved ? &saved->value : nullptr)) improved_ = {name, value, updates};
  }
  state_.stalled_validations = improved ? 0 : state_.stalled_validations + 1;
  return improved;
}

void Trainer::save() {
  parts_.ranks.enter(Phase::checkpoint, state_.progress.updates);
  require_same_weights(parts_.ranks, parts_.parameters);
  state_.seconds = trained_seconds();
  state_.unreported = parts_.reporter.unreported();
  confirm_best();
  const bool is_best = improved_.has_value();
  if (is_best) {
    best_before_ = std::exchange(state_.best_checkpoint, std::exchange(improved_, std::nullopt));
    best_is_unconfirmed_ = true;
  }
  writer_.save(parts_.parameters, parts_.optimizer, state_, is_best);
}

// Collective. Waits for the writer where it writes a best checkpoint; where that failed, the one before is still the
// best.
void Trainer::confirm_best() {
  if (!best_is_unconfirmed_) return;
  best_is_unconfirmed_ = false;
  int64_t written = writer_.is_written() ? 1 : 0;  // rank 0 knows
  parts_.ranks.broadcast(std::span<int64_t>(&written, 1), 0);
  if (written == 0) state_.best_checkpoint = best_before_;
}

std::vector<StepSeconds> Trainer::seconds_of_ranks() const {
  const auto ranks = size_t(parts_.ranks.size());
  std::vector<std::array<double, 3>> all(ranks);
  all[size_t(parts_.ranks.rank())] = {seconds_.data, seconds_.compute, seconds_.communication};
  parts_.ranks.all_reduce(std::span<double>(all.front().data(), 3 * ranks));
  std::vector<StepSeconds> seconds;
  for (const auto& [data, compute, communication] : all) seconds.push_back({data, compute, communication});
  return seconds;
}

}  // namespace gyre
