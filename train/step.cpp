#include "train/step.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <new>
#include <optional>
#include <vector>

#include "autograd/nan_finder.h"
#include "core/random.h"
#include "train/stopwatch.h"

namespace gyre {
namespace {

// Numbers of all shards on their way through one all-reduce: each rank fills in its own shards and zeros elsewhere, so
// that the sum over ranks moves them without rounding; then every rank adds them in the order of the tree.
class ShardSums {
 public:
  explicit ShardSums(int shards) : shards_(size_t(shards)), values_((kFields * shards_) + kVotes) {}

  void set(int shard, const LossSums& s) {
    const double fields[kFields] = {s.loss, s.nll, s.correct, s.tokens};
    for (size_t f = 0; f < kFields; ++f) values_[f * shards_ + size_t(shard)] = fields[f];
  }
  void vote(StopWish wish) {
    if (wish != StopWish::none) votes(size_t(wish)) = 1;
  }
  void vote_failed() { votes(kFailed) = 1; }
  // What this rank's data say that all shards have.
  void set_predictions(uint64_t predictions) { votes(kPredictions) = double(predictions); }

  void exchange(Communicator& ranks) { ranks.all_reduce(std::span<double>(values_)); }

  LossSums total() const { return {field(0), field(1), field(2), field(3)}; }
  StopWish stop() {
    for (StopWish wish : {StopWish::signal, StopWish::out_of_time}) {
      if (votes(size_t(wish)) > 0) return wish;
    }
    return StopWish::none;
  }
  bool failed() { return votes(kFailed) > 0; }
  double predictions_of_all_ranks() { return votes(kPredictions); }

 private:
  // Votes are counted from 1: the wishes, then failures, then predictions.
  static constexpr size_t kFields = 4, kVotes = 4, kFailed = 3, kPredictions = 4;
  double field(size_t f) const { return tree_sum(std::span<const double>(values_).subspan(f * shards_, shards_)); }

  double& votes(size_t which) { return values_[values_.size() - which]; }

  size_t shards_;
  std::vector<double> values_;  // shards_ of each field, then the votes
};

// As tests ask for it (train/fault.h).
void poison(const Tensor& arena) {
  constexpr int64_t kNumbers = 64;  // more than lie between two parameters
  const Tensor some = arena.slice(arena.size() / 2, std::min(arena.size(), arena.size() / 2 + kNumbers));
  some.copy_from(Tensor::from({some.size()}, std::vector<float>(size_t(some.size()), NAN)));
}

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

// Work of one rank that may fail while others succeed. It takes part in the exchange of gradients all the same, so that
// nobody waits for it; then all agree to end.
class TrainStep::Attempt {
 public:
  explicit Attempt(Communicator& ranks) : ranks_(ranks) {}

  // Does nothing after a failure. `moment`: what the error names; without one, where the rank is.
  template <class F>
  void at(F&& work, std::optional<Moment> moment = {}) {
    if (failed()) return;
    try {
      work();
    } catch (...) {
      const Moment now = moment.value_or(ranks_.whereabouts().now());
      failure_ = concat(phase_name(now.phase), " of update ", now.update, ": ", what(std::current_exception()));
    }
  }
  bool failed() const { return !failure_.empty(); }

  // Collective: throws the error of the first rank that has one.
  [[noreturn]] void agree() {
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
  own_ = shards_of_rank(options.shards, ranks.size(), ranks.rank());
}

StepResult TrainStep::run(uint64_t update, const std::function<const RankBatch&()>& take_batch, StopWish stop,
                          StepSeconds& seconds) {
  Stopwatch watch;
  ShardSums sums(options_.shards);
  Attempt attempt(ranks_);
  const RankBatch none;  // until one is taken
  const RankBatch* batch = &none;
  // First: whatever fails on one rank alone then, all have the same weights to save.
  attempt.at([&] { model_.before_update(options_.seed, update); }, Moment{.update = update + 1, .phase = Phase::data});
  seconds.compute += watch.lap();
  attempt.at([&] {
    ranks_.enter(Phase::data, update + 1);
    batch = &take_batch();
  });
  seconds.data += watch.lap();
  for (int i = 0; i < own_.count(); ++i) {
    const int shard = own_.begin + i;
    TapeObserver* const observer = i + 1 == own_.count() ? &reducer_.begin_last_shard() : nullptr;
    attempt.at([&] { sums.set(shard, run_shard(update, shard, batch->shards.at(size_t(i)), observer)); });
    reducer_.end_shard();
  }
  seconds.compute += watch.lap();
  ranks_.enter(Phase::reduction, update + 1);
  sums.vote(stop);
  sums.set_predictions(batch->predictions);
  if (attempt.failed()) sums.vote_failed();
  reducer_.finish();
  sums.exchange(ranks_);  // after finish(): until then ranks may have started different numbers of buckets
  if (sums.failed()) attempt.agree();
  seconds.communication += watch.lap();

  StepResult result{sums.total(), {}, sums.stop()};
  // Both sides are sums over the ranks, so that all come to the same answer, whatever their data are.
  const double predictions = result.sums.tokens;
  attempt.at([&] {
    require(predictions * ranks_.size() == sums.predictions_of_all_ranks(), "[step] the batch has ", batch->predictions,
            " predictions, the shards of all ranks had ", uint64_t(predictions));
  });
  if (attempt.failed()) attempt.agree();
  ranks_.enter(Phase::optimizer, update + 1);
  result.update = predictions > 0 ? optimizer_.update(predictions) : optimizer_.skip();
  seconds.compute += watch.lap();
  return result;
}

Tape TrainStep::make_tape(uint64_t update, int shard) {
  return {kernels_,
          {.record = true,
           .training = true,
           .seed = mix(mix(options_.seed, update), uint64_t(shard)),
           .precision = options_.precision,
           .unit_cotangent = true}};
}

LossSums TrainStep::run_shard(uint64_t update, int number, const Shard& shard, TapeObserver* observer) {
  if (shard.predictions == 0) return {};  // fewer sentences than shards
  Tape tape = make_tape(update, number);
  if (ranks_.enter(Phase::forward, update + 1)) poison(model_.parameters().values());
  const LossResult result = model_.loss(tape, shard.input);
  if (observer != nullptr) tape.add_observer(*observer);
  if (ranks_.enter(Phase::backward, update + 1)) poison(model_.parameters().gradients());
  tape.backward(result.loss);
  return {result.sums.loss, result.sums.nll, double(result.sums.correct), double(result.sums.tokens)};
}

std::string TrainStep::find_non_finite(uint64_t update, const RankBatch& batch) {
  std::string found;
  for (int i = 0; i < own_.count() && found.empty(); ++i) {
    const Shard& shard = batch.shards[size_t(i)];
    if (shard.predictions == 0) continue;
    NanFinder finder;
    model_.parameters().gradients().zero();
    Tape tape = make_tape(update, own_.begin + i);
    tape.add_observer(finder);
    tape.backward(model_.loss(tape, shard.input).loss);
    found = finder.report();
  }
  model_.parameters().gradients().zero();
  const std::vector<std::string> reports = ranks_.gather(found, 0);
  for (size_t rank = 0; rank < reports.size(); ++rank) {
    if (!reports[rank].empty()) return concat("on rank ", rank, ": ", reports[rank]);
  }
  return "computed once more, all numbers of this update are finite: the memory or the network may be at fault";
}

}  // namespace gyre
