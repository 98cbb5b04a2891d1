#include "gyre/train/step.h"

#include <cmath>
#include <exception>
#include <new>
#include <optional>
#include <vector>

#include "gyre/autograd/inspect/tensor_stats.h"
#include "gyre/core/clock.h"
#include "gyre/core/random.h"
#include "gyre/train/parallel/tree_reduction.h"

namespace gyre {

void LossSums::add(const LossSums& other) {
  loss += other.loss;
  nll += other.nll;
  correct += other.correct;
  tokens += other.tokens;
}

MicroBatchSums::MicroBatchSums(int micro_batches)
    : micro_batches_(size_t(micro_batches)), values_(kFields * micro_batches_ + size_t(Flag::count)) {}

void MicroBatchSums::set_tokens(int micro_batch, int64_t predictions) {
  at(kLosses, micro_batch) = double(predictions);
}

void MicroBatchSums::set_losses(int micro_batch, const CrossEntropySums& sums) {
  at(0, micro_batch) = sums.loss;
  at(1, micro_batch) = sums.nll;
  at(2, micro_batch) = double(sums.correct);
}

void MicroBatchSums::request_stop(StopRequest request) {
  if (request == StopRequest::signal) flag(Flag::stopped_by_signal) = 1;
  if (request == StopRequest::out_of_time) flag(Flag::out_of_time) = 1;
}

StopRequest MicroBatchSums::stop() const {
  if (flag(Flag::stopped_by_signal) > 0) return StopRequest::signal;
  return flag(Flag::out_of_time) > 0 ? StopRequest::out_of_time : StopRequest::none;
}

double MicroBatchSums::field(size_t f) const {
  return tree_sum(std::span<const double>(values_).subspan(f * micro_batches_, micro_batches_));
}

namespace {

std::string message_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::bad_alloc&) {
    return "out of memory";
  } catch (const std::exception& e) {
    return e.what();
  }
}

}  // namespace

// Guards work that may fail on one rank only. The rank that failed still takes part in the reduction of gradients, so
// that no rank waits for it; then all ranks throw.
class TrainStep::CollectiveErrorGuard {
 public:
  explicit CollectiveErrorGuard(Communicator& ranks) : ranks_(ranks) {}

  // Runs `work` unless an earlier one has failed. `snapshot`: the phase and update for the error message; default: now.
  template <class F>
  void run(F&& work, std::optional<StatusSnapshot> snapshot = {}) {
    if (failed()) return;
    try {
      work();
    } catch (...) {
      const StatusSnapshot now = snapshot.value_or(ranks_.rank_status().now());
      failure_ = concat(to_string(now.phase), " of update ", now.update, ": ", message_of(std::current_exception()));
    }
  }
  bool failed() const { return !failure_.empty(); }

  // Collective. Throws the error of the first rank that has one.
  [[noreturn]] void throw_first_error() {
    int64_t rank = 0;
    const std::vector<std::string> failures = ranks_.gather(failure_, 0);
    while (ranks_.rank() == 0 && failures[size_t(rank)].empty()) ++rank;
    ranks_.broadcast(std::span<int64_t>(&rank, 1), 0);
    throw RankError(int(rank), ranks_.broadcast_text(ranks_.rank() == 0 ? failures[size_t(rank)] : "", 0));
  }

 private:
  Communicator& ranks_;
  std::string failure_;
};

TrainStep::TrainStep(TrainingModel& model, Optimizer& optimizer, GradientReducer& reducer, Kernels& kernels,
                     Communicator& ranks, const StepOptions& options)
    : model_(model), optimizer_(optimizer), reducer_(reducer), kernels_(kernels), ranks_(ranks), options_(options) {
  own_ = micro_batches_of_rank(options.micro_batches, ranks.size(), ranks.rank());
}

StopRequest TrainStep::start(uint64_t update, const std::function<const RankBatch&()>& take_batch,
                             const std::function<StopRequest()>& own_stop_request, StepSeconds& seconds,
                             const std::function<void()>& before_optimizer) {
  Stopwatch watch;
  Started started(options_.micro_batches);
  MicroBatchSums& sums = started.sums;
  CollectiveErrorGuard guard(ranks_);
  const RankBatch none;  // if taking a batch fails
  const RankBatch* batch = &none;
  // This comes first: if a rank fails later, all ranks still have the same weights to save.
  guard.run([&] { model_.before_update(options_.seed, update); },
            StatusSnapshot{.update = update + 1, .phase = Phase::data});
  seconds.compute += watch.lap();
  guard.run([&] {
    ranks_.enter(Phase::data, update + 1);
    batch = &take_batch();
  });
  seconds.data += watch.lap();
  for (int i = 0; i < own_.count(); ++i) {
    TapeObserver* const observer = reducer_.begin_micro_batch();
    guard.run([&] { run_micro_batch(update, own_.begin + i, batch->micro_batches.at(size_t(i)), observer, started); });
    reducer_.end_micro_batch();
  }
  seconds.compute += watch.lap();
  ranks_.enter(Phase::reduction, update + 1);
  sums.request_stop(own_stop_request());
  sums.set_predictions(batch->predictions);
  if (guard.failed()) sums.report_failure();
  reducer_.finish();
  // After finish(): before it, ranks may have started different numbers of buckets.
  if (figures_are_late()) {
    sums.exchange_flags(ranks_);
  } else {
    read_totals(started);
    sums.exchange_all(ranks_);
  }
  if (sums.failed()) guard.throw_first_error();
  seconds.communication += watch.lap();

  // Both sides are sums over the ranks, so that all ranks get the same result even if their data differ.
  const double predictions = sums.tokens();
  guard.run([&] {
    require(predictions * ranks_.size() == sums.predictions_of_all_ranks(), "[step] the batch has ", batch->predictions,
            " predictions, the micro-batches of all ranks had ", uint64_t(predictions));
  });
  if (guard.failed()) guard.throw_first_error();
  before_optimizer();
  require(!started_, "[step] expected finish() before the optimizer step of the next update");
  ranks_.enter(Phase::optimizer, update + 1);
  if (predictions > 0) {
    optimizer_.start_update(predictions);
  } else {
    started.skipped = optimizer_.skip();
  }
  started_ = std::move(started);
  seconds.compute += watch.lap();
  return started_->sums.stop();
}

StepResult TrainStep::finish() {
  require(started_.has_value(), "[step] expected start() before finish()");
  Started started = std::move(*started_);
  started_.reset();
  if (figures_are_late()) {
    read_totals(started);
    started.sums.exchange_losses(ranks_);
  }
  return {.sums = started.sums.total(),
          .update = started.skipped ? *started.skipped : optimizer_.finish_update(),
          .flops = started.sums.flops_of_all_ranks()};
}

StepResult TrainStep::run(uint64_t update, const std::function<const RankBatch&()>& take_batch, StepSeconds& seconds) {
  start(
      update, take_batch, [] { return StopRequest::none; }, seconds, [] {});
  return finish();
}

Tape TrainStep::make_tape(uint64_t update, int micro_batch) {
  return {kernels_,
          {.record = true,
           .training = true,
           .seed = mix(mix(options_.seed, update), uint64_t(micro_batch)),
           .precision = options_.precision,
           .loss_seeded = true,
           .parameters = &model_.parameters(),
           .recompute = options_.recompute}};
}

namespace {

// Counts the FLOPs of backward: as many as those of forward for each factor of a product whose gradient is computed.
// The factors are the first two inputs of an op; an absent one is part of the other, as in attention on packed
// projections.
class BackwardFlops final : public TapeObserver {
 public:
  void before_backward(const Tape& tape, int number) override {
    const Node& node = tape.nodes()[size_t(number)];
    const double flops = node.op->flops();
    if (flops == 0) return;
    const bool has_second = node.inputs.size() > 1 && node.input_values[1];
    const bool first = node.inputs[0] >= 0, second = has_second ? node.inputs[1] >= 0 : first;
    sum_ += flops * (int{first} + int{second});
  }
  double sum() const { return sum_; }

 private:
  double sum_ = 0;
};

}  // namespace

void TrainStep::run_micro_batch(uint64_t update, int number, const MicroBatch& micro_batch, TapeObserver* observer,
                                Started& started) {
  if (micro_batch.predictions == 0) return;  // fewer sentences than micro-batches
  ranks_.enter(Phase::forward, update + 1);
  BackwardFlops backward_flops;
  Tape tape = make_tape(update, number);
  const LossResult result = micro_batch.loss(tape);
  started.sums.set_tokens(number, result.predictions);
  started.totals.emplace_back(number, HostCopy(result.totals));
  if (observer != nullptr) tape.add_observer(*observer);
  tape.add_observer(backward_flops);
  ranks_.enter(Phase::backward, update + 1);
  tape.backward(result.loss);
  started.sums.add_flops(tape.flops() + backward_flops.sum());
}

void TrainStep::read_totals(Started& started) const {
  for (const auto& [micro_batch, totals] : started.totals)
    started.sums.set_losses(micro_batch, sums_from(totals.wait()));
  started.totals.clear();
}

std::string TrainStep::find_non_finite(uint64_t update, const RankBatch& batch) {
  model_.before_update(options_.seed, update);  // the next update has changed this state already on a GPU
  std::string found;
  for (int i = 0; i < own_.count() && found.empty(); ++i) {
    const MicroBatch& micro_batch = batch.micro_batches[size_t(i)];
    if (micro_batch.predictions == 0) continue;
    NanFinder finder;
    model_.parameters().zero_gradients();
    Tape tape = make_tape(update, own_.begin + i);
    tape.add_observer(finder);
    tape.backward(micro_batch.loss(tape).loss);
    found = finder.report();
  }
  model_.parameters().zero_gradients();
  const std::vector<std::string> reports = ranks_.gather(found, 0);
  for (size_t rank = 0; rank < reports.size(); ++rank) {
    if (!reports[rank].empty()) return concat("on rank ", rank, ": ", reports[rank]);
  }
  return "all values are finite when this update is repeated: the memory or the network may be faulty";
}

namespace {

std::string find_cause(TrainStep& step, double gradient_norm, uint64_t finished_updates, const RankBatch& batch) {
  if (std::isfinite(gradient_norm)) return "this is too large for the update rule";
  return step.find_non_finite(finished_updates, batch);
}

}  // namespace

ReplayResult replay(TrainStep& step, TrainingData& data, Progress progress, uint64_t updates) {
  ReplayResult result{.first = progress.updates + 1, .last = progress.updates + updates, .anomaly = {}};
  while (progress.updates < result.last) {
    RankBatch batch;
    const auto take = [&]() -> const RankBatch& {
      data.start_epoch(progress.epoch, progress.updates - progress.batch);
      batch = data.batch(progress.batch, step.own_micro_batches());
      return batch;
    };
    StepSeconds seconds;
    const UpdateInfo update = step.run(progress.updates, take, seconds).update;
    if (!update.accepted) {
      result.anomaly = {progress.updates + 1, update.gradient_norm,
                        find_cause(step, update.gradient_norm, progress.updates, batch)};
      return result;
    }
    advance(progress, batch, data.batches());
  }
  return result;
}

}  // namespace gyre
