#include "gyre/train/step.h"

#include <exception>
#include <new>
#include <optional>
#include <vector>

#include "gyre/autograd/inspect/nan_finder.h"
#include "gyre/core/random.h"
#include "gyre/train/log/stopwatch.h"

namespace gyre {
namespace {

// Exchanges the sums of all micro-batches in one all-reduce. Each rank fills in its own micro-batches and leaves zeros
// elsewhere, so that the all-reduce does not round. Then every rank adds the micro-batches in the order of the tree.
class MicroBatchSums {
 public:
  explicit MicroBatchSums(int micro_batches)
      : micro_batches_(size_t(micro_batches)), values_((kFields * micro_batches_) + kFlags) {}

  void set(int micro_batch, const LossSums& s) {
    const double fields[kFields] = {s.loss, s.nll, s.correct, s.tokens};
    for (size_t f = 0; f < kFields; ++f) values_[f * micro_batches_ + size_t(micro_batch)] = fields[f];
  }
  void request_stop(StopRequest request) {
    if (request != StopRequest::none) flag(size_t(request)) = 1;
  }
  void report_failure() { flag(kFailed) = 1; }
  // The number of predictions of the global batch according to this rank's data.
  void set_predictions(uint64_t predictions) { flag(kPredictions) = double(predictions); }

  void exchange(Communicator& ranks) { ranks.all_reduce(std::span<double>(values_)); }

  LossSums total() const { return {field(0), field(1), field(2), field(3)}; }
  StopRequest stop() {
    for (StopRequest request : {StopRequest::signal, StopRequest::out_of_time}) {
      if (flag(size_t(request)) > 0) return request;
    }
    return StopRequest::none;
  }
  bool failed() { return flag(kFailed) > 0; }
  double predictions_of_all_ranks() { return flag(kPredictions); }

 private:
  // Flags are numbered from 1: the stop requests, then failures, then predictions.
  static constexpr size_t kFields = 4, kFlags = 4, kFailed = 3, kPredictions = 4;
  double field(size_t f) const {
    return tree_sum(std::span<const double>(values_).subspan(f * micro_batches_, micro_batches_));
  }

  double& flag(size_t which) { return values_[values_.size() - which]; }

  size_t micro_batches_;
  std::vector<double> values_;  // micro_batches_ values of each field, then the flags
};

std::string what(const std::exception_ptr& error) {
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
  void at(F&& work, std::optional<StatusSnapshot> snapshot = {}) {
    if (failed()) return;
    try {
      work();
    } catch (...) {
      const StatusSnapshot now = snapshot.value_or(ranks_.rank_status().now());
      failure_ = concat(phase_name(now.phase), " of update ", now.update, ": ", what(std::current_exception()));
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

void LossSums::add(const LossSums& other) {
  loss += other.loss;
  nll += other.nll;
  correct += other.correct;
  tokens += other.tokens;
}

TrainStep::TrainStep(TrainingModel& model, Optimizer& optimizer, GradientReducer& reducer, Kernels& kernels,
                     Communicator& ranks, const StepOptions& options)
    : model_(model), optimizer_(optimizer), reducer_(reducer), kernels_(kernels), ranks_(ranks), options_(options) {
  own_ = micro_batches_of_rank(options.micro_batches, ranks.size(), ranks.rank());
}

StepResult TrainStep::run(uint64_t update, const std::function<const RankBatch&()>& take_batch, StopRequest stop,
                          StepSeconds& seconds) {
  Stopwatch watch;
  MicroBatchSums sums(options_.micro_batches);
  CollectiveErrorGuard error_guard(ranks_);
  const RankBatch none;  // if taking a batch fails
  const RankBatch* batch = &none;
  // This comes first: if a rank fails later, all ranks still have the same weights to save.
  error_guard.at([&] { model_.before_update(options_.seed, update); },
                 StatusSnapshot{.update = update + 1, .phase = Phase::data});
  seconds.compute += watch.lap();
  error_guard.at([&] {
    ranks_.enter(Phase::data, update + 1);
    batch = &take_batch();
  });
  seconds.data += watch.lap();
  for (int i = 0; i < own_.count(); ++i) {
    const int micro_batch = own_.begin + i;
    TapeObserver* const observer = i + 1 == own_.count() ? &reducer_.begin_last_micro_batch() : nullptr;
    error_guard.at([&] {
      sums.set(micro_batch, run_micro_batch(update, micro_batch, batch->micro_batches.at(size_t(i)), observer));
    });
    reducer_.end_micro_batch();
  }
  seconds.compute += watch.lap();
  ranks_.enter(Phase::reduction, update + 1);
  sums.request_stop(stop);
  sums.set_predictions(batch->predictions);
  if (error_guard.failed()) sums.report_failure();
  reducer_.finish();
  sums.exchange(ranks_);  // after finish(): before it, ranks may have started different numbers of buckets
  if (sums.failed()) error_guard.throw_first_error();
  seconds.communication += watch.lap();

  StepResult result{sums.total(), {}, sums.stop()};
  // Both sides are sums over the ranks, so that all ranks get the same result even if their data differ.
  const double predictions = result.sums.tokens;
  error_guard.at([&] {
    require(predictions * ranks_.size() == sums.predictions_of_all_ranks(), "[step] the batch has ", batch->predictions,
            " predictions, the micro-batches of all ranks had ", uint64_t(predictions));
  });
  if (error_guard.failed()) error_guard.throw_first_error();
  ranks_.enter(Phase::optimizer, update + 1);
  result.update = predictions > 0 ? optimizer_.update(predictions) : optimizer_.skip();
  seconds.compute += watch.lap();
  return result;
}

Tape TrainStep::make_tape(uint64_t update, int micro_batch) {
  return {kernels_,
          {.record = true,
           .training = true,
           .seed = mix(mix(options_.seed, update), uint64_t(micro_batch)),
           .precision = options_.precision,
           .loss_seeded = true}};
}

LossSums TrainStep::run_micro_batch(uint64_t update, int number, const MicroBatch& micro_batch,
                                    TapeObserver* observer) {
  if (micro_batch.predictions == 0) return {};  // fewer sentences than micro-batches
  Tape tape = make_tape(update, number);
  ranks_.enter(Phase::forward, update + 1);
  const LossResult result = micro_batch.loss(tape);
  if (observer != nullptr) tape.add_observer(*observer);
  ranks_.enter(Phase::backward, update + 1);
  tape.backward(result.loss);
  return {result.sums.loss, result.sums.nll, double(result.sums.correct), double(result.sums.tokens)};
}

std::string TrainStep::find_non_finite(uint64_t update, const RankBatch& batch) {
  std::string found;
  for (int i = 0; i < own_.count() && found.empty(); ++i) {
    const MicroBatch& micro_batch = batch.micro_batches[size_t(i)];
    if (micro_batch.predictions == 0) continue;
    NanFinder finder;
    model_.parameters().gradients().zero();
    Tape tape = make_tape(update, own_.begin + i);
    tape.add_observer(finder);
    tape.backward(micro_batch.loss(tape).loss);
    found = finder.report();
  }
  model_.parameters().gradients().zero();
  const std::vector<std::string> reports = ranks_.gather(found, 0);
  for (size_t rank = 0; rank < reports.size(); ++rank) {
    if (!reports[rank].empty()) return concat("on rank ", rank, ": ", reports[rank]);
  }
  return "all values are finite when this update is repeated: the memory or the network may be faulty";
}

}  // namespace gyre
