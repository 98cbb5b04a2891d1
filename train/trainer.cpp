#include "gyre/train/trainer.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "gyre/core/clock.h"
#include "gyre/core/error.h"
#include "gyre/core/number_text.h"
#include "gyre/train/parallel/stop_signal.h"

namespace gyre {
namespace {

uint64_t completed_periods(const Period& period, const Progress& progress) {
  return period.amount > 0 ? period.count(progress) / period.amount : 0;
}

// True if a value is better than an earlier one, if any.
bool is_better(const std::string& metric, double value, const double* earlier) {
  const bool higher = higher_is_better(metric);
  if (earlier == nullptr) return !std::isnan(value);
  return higher ? value > *earlier : value < *earlier;
}

// Collective. Throws an Error if the weights of the ranks do not have the same bits.
void require_same_weights(Communicator& ranks, const Parameters& parameters) {
  const Tensor values = parameters.values().to_cpu();
  const int64_t own = crc32c(values.raw(), values.bytes());
  int64_t first = own;
  ranks.broadcast(std::span<int64_t>(&first, 1), 0);
  require(own == first, "[ranks] the weights of rank ", ranks.rank(), " differ from those of rank 0 (checksums ",
          hexadecimal(uint64_t(own)), " and ", hexadecimal(uint64_t(first)), "); nothing was saved");
}

}  // namespace

Trainer::Trainer(const TrainerParts& parts, TrainState state)
    : parts_(parts),
      state_(std::move(state)),
      before_(state_.progress),
      seconds_before_(state_.seconds),
      writer_(parts.run, parts.checkpoint.saving) {}

void Trainer::run() {
  if (state_.validation_due && parts_.validation != nullptr) {
    validate();
    save();
  }
  while (end_reason().empty()) {
    update();
    state_.seconds = trained_seconds();
    writer_.poll();
    state_.validation_due = validation_is_due();
    const bool saving_is_due = due(parts_.checkpoint.every) || ends_stage() || !end_reason().empty();
    const bool reports = due(parts_.display_every) || ends_stage();
    if (saving_is_due || state_.validation_due || reports || !parts_.step.figures_are_late())
      finish_started(Wait::separately);
    parts_.reporter.progress(state_, reports);
    // A signal may leave little time: the job that resumes the run starts with the validation.
    if (state_.validation_due && stop_ != StopRequest::signal) validate();
    // A validation can end the run, by early stopping.
    if (improved_ || saving_is_due || !end_reason().empty()) save();
    if (ends_stage()) parts_.reporter.report_stage(state_);
  }
  writer_.finish();
  parts_.ranks.enter(Phase::end, state_.progress.updates);
  parts_.reporter.ended(state_, end_reason(), seconds_of_ranks());
}

void Trainer::update() {
  const Stopwatch watch;
  Progress& progress = state_.progress;
  before_ = progress;
  try {
    const auto take = [this]() -> const RankBatch& {
      take_batch();
      return batch_;
    };
    stop_ = parts_.step.start(
        progress.updates, take, [this] { return own_stop_request(); }, seconds_,
        [this] { finish_started(Wait::within_next_update); });
  } catch (const RankError&) {
    save_after_failure();
    throw;
  }
  advance(progress, batch_, parts_.data.batches());
  started_ = {.number = progress.updates,
              .epoch = before_.epoch + 1,
              .batch = std::exchange(batch_, {}),
              .seconds = watch.seconds()};
}

// Collective. Reads the figures of the started update, if any, and reports them.
void Trainer::finish_started(Wait wait) {
  if (!started_) return;
  const Stopwatch watch;
  StartedUpdate update = std::move(*started_);
  started_.reset();
  const StepResult result = parts_.step.finish();
  if (wait == Wait::separately) {
    const double waited = watch.seconds();
    update.seconds += waited;
    seconds_.compute += waited;
  }
  if (result.sums.tokens > 0) {
    count_skipped(update, result.update);
  } else {
    warn_of_empty_batch(update.number);
  }
  parts_.reporter.updated(state_, update.epoch, result, update.batch.source_tokens + update.batch.target_tokens,
                          update.seconds);
}

void Trainer::take_batch() {
  const TrainingData& data = parts_.data;
  const MicroBatchRange own = parts_.step.own_micro_batches();
  const size_t now = state_.progress.batch;
  parts_.data.start_epoch(state_.progress.epoch, state_.progress.updates - now);
  batch_ = next_batch_.valid() ? next_batch_.get() : data.batch(now, own);
  if (now + 1 < data.batches()) {
    next_batch_ = std::async(std::launch::async, [&data, own, next = now + 1] { return data.batch(next, own); });
  }
}

// Saves the state before a failed update that no rank has applied. Not used for errors in the optimizer step or in
// communication: weights may have changed, or ranks may not answer.
void Trainer::save_after_failure() noexcept {
  try {
    finish_started(Wait::separately);
    if (before_.updates > 0) save();
    writer_.finish();
  } catch (const std::exception& error) {
    spdlog::error("the state before the failed update could not be saved: {}", error.what());
  }
}

// The norm is that of the reduced gradient, so all ranks make the same decision.
void Trainer::count_skipped(const StartedUpdate& update, const UpdateInfo& info) {
  if (info.accepted) {
    skipped_in_a_row_ = 0;
    return;
  }
  ++skipped_in_a_row_;
  if (parts_.ranks.rank() == 0) {
    spdlog::warn("update {} was skipped: the norm of the gradient is {} ({} in a row)", update.number,
                 info.gradient_norm, skipped_in_a_row_);
  }
  if (skipped_in_a_row_ <= parts_.stop.max_skipped) return;
  require(
      !std::isfinite(info.gradient_norm), "[train] the norm of the gradient was ", info.gradient_norm, " in update ",
      update.number, ", too large for the update rule, and ", skipped_in_a_row_,
      " updates in a row were skipped (--max-skipped): training has diverged; continue from the last checkpoint with "
      "a lower --learn-rate or with --clip-norm");
  const std::string cause = parts_.step.find_non_finite(update.number - 1, update.batch);
  throw Error("[train] the gradient was not finite in ", skipped_in_a_row_, " updates in a row, up to update ",
              update.number,
              " (--max-skipped): training has diverged; continue from the last checkpoint with a lower --learn-rate or "
              "with --clip-norm. In the last of them, ",
              cause);
}

// Warns only once: with short samples and few masks there may be many such updates.
void Trainer::warn_of_empty_batch(uint64_t update) {
  if (has_warned_of_empty_batch_ || parts_.ranks.rank() != 0) return;
  has_warned_of_empty_batch_ = true;
  spdlog::warn(
      "update {} has nothing to predict, so weights and moments do not change; further such updates are not reported",
      update);
}

StopRequest Trainer::own_stop_request() {
  if (const char* name = StopSignal::raised()) {
    if (!has_warned_of_signal_)
      spdlog::warn("received {}: the run saves and ends after update {}{}", name, state_.progress.updates + 1,
                   parts_.ranks.size() > 1 && name == std::string_view("SIGTERM") && StopSignal::sent_by_parent()
                       ? ", unless mpirun ends the ranks first"
                       : "");
    has_warned_of_signal_ = true;
    return StopRequest::signal;
  }
  return is_out_of_time(trained_seconds()) ? StopRequest::out_of_time : StopRequest::none;
}

bool Trainer::is_out_of_time(double seconds) const {
  const auto& minutes = parts_.stop.minutes;
  return minutes && seconds >= 60 * *minutes;
}

std::string Trainer::end_reason() const {
  const StopOptions& options = parts_.stop;
  const char* const signal = "stopped by a signal: the same command continues the run";
  if (stop_ == StopRequest::signal && state_.validation_due) return signal;
  if (options.after.is_reached(state_.progress)) return "reached --after " + to_string(options.after);
  if (options.early_stopping > 0 && state_.validations_without_improvement >= options.early_stopping)
    return "early stopping";
  if (stop_ == StopRequest::signal) return signal;
  // The clocks of the ranks differ, so one rank requests the stop. The time of earlier jobs is the same on all ranks.
  if (stop_ == StopRequest::out_of_time || is_out_of_time(seconds_before_))
    return "reached --stop-after-minutes, over all jobs of the run";
  return "";
}

bool Trainer::due(const Period& period) const {
  return completed_periods(period, state_.progress) > completed_periods(period, before_);
}

bool Trainer::ends_stage() const {
  const uint64_t updates = state_.progress.updates;
  return updates > before_.updates && std::any_of(parts_.stages.begin(), parts_.stages.end(),
                                                  [&](const RunStage& stage) { return stage.end() == updates; });
}

// Also due at the end of a stage and of the run. A stop by a signal is not the end of the run.
bool Trainer::validation_is_due() const {
  if (parts_.validation == nullptr) return false;
  const bool ends =
      stop_ == StopRequest::signal ? parts_.stop.after.is_reached(state_.progress) : !end_reason().empty();
  return ends || ends_stage() || due(parts_.validation_options.every);
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
  const bool is_best = record_metrics(result);
  state_.validation_due = false;
  state_.seconds = trained_seconds();
  parts_.reporter.validated(state_, result, is_best);
}

// Records the best value of every metric. Returns whether the first metric improved. Even if it did not, it may be
// better than that of the best checkpoint, if writing a better checkpoint failed.
bool Trainer::record_metrics(const ValidationResult& result) {
  bool improved = false;
  const std::string& first = parts_.validation_options.metrics.front();
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
  state_.validations_without_improvement = improved ? 0 : state_.validations_without_improvement + 1;
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

// Collective. If a best checkpoint is being written, waits for it. If writing failed, restores the previous best
// checkpoint.
void Trainer::confirm_best() {
  if (!best_is_unconfirmed_) return;
  best_is_unconfirmed_ = false;
  int64_t written = writer_.is_written() ? 1 : 0;  // valid on rank 0
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
