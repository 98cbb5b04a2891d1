#include "train/step.h"

#include "core/error.h"
#include "core/random.h"
#include "train/stopwatch.h"

namespace gyre {
namespace {

// Numbers of all shards on their way through one all-reduce: each rank fills in its own shards and zeros elsewhere, so
// that the sum over ranks moves them without rounding; then every rank adds them in the order of the tree.
class ShardSums {
 public:
  explicit ShardSums(int shards) : shards_(size_t(shards)), values_((kFields * shards_) + 2) {}

  void set(int shard, const LossSums& s) {
    const double fields[kFields] = {s.loss, s.nll, s.correct, s.tokens};
    for (size_t f = 0; f < kFields; ++f) values_[f * shards_ + size_t(shard)] = fields[f];
  }
  void vote(StopWish wish) {
    if (wish != StopWish::none) votes(wish) = 1;
  }

  void exchange(Communicator& ranks) { ranks.all_reduce(std::span<double>(values_)); }

  LossSums total() const { return {field(0), field(1), field(2), field(3)}; }
  StopWish stop() {
    for (StopWish wish : {StopWish::signal, StopWish::out_of_time}) {
      if (votes(wish) > 0) return wish;
    }
    return StopWish::none;
  }

 private:
  static constexpr size_t kFields = 4;
  double field(size_t f) const { return tree_sum(std::span<const double>(values_).subspan(f * shards_, shards_)); }

  double& votes(StopWish wish) { return values_[values_.size() - size_t(wish)]; }

  size_t shards_;
  std::vector<double> values_;  // shards_ of each field, then the votes
};

}  // namespace

void LossSums::add(const LossSums& other) {
  loss += other.loss;
  nll += other.nll;
  correct += other.correct;
  tokens += other.tokens;
}

TrainStep::TrainStep(TrainingModel& model, Optimizer& optimizer, Kernels& kernels, Communicator& ranks,
                     const StepOptions& options)
    : model_(model), optimizer_(optimizer), kernels_(kernels), ranks_(ranks), options_(options) {
  own_ = shards_of_rank(options.shards, ranks.size(), ranks.rank());
  reducer_ = options.deterministic ? make_tree_reducer(ranks, kernels, model.parameters(), options.shards)
                                   : make_bucket_reducer(ranks, model.parameters(), options.bucket_mb);
}

StepResult TrainStep::run(uint64_t update, const RankBatch& batch, StopWish stop, StepSeconds& seconds) {
  require(int(batch.shards.size()) == own_.count(), "[step] expected ", own_.count(), " shards, got ",
          batch.shards.size());
  Stopwatch watch;
  model_.before_update(options_.seed, update);
  ShardSums sums(options_.shards);
  for (int i = 0; i < own_.count(); ++i) {
    const int shard = own_.begin + i;
    sums.set(shard, run_shard(update, shard, batch.shards[size_t(i)], i + 1 == own_.count()));
    reducer_->end_shard();
  }
  seconds.compute += watch.lap();
  sums.vote(stop);
  reducer_->finish();
  sums.exchange(ranks_);  // after finish(): until then ranks may have started different numbers of buckets
  seconds.communication += watch.lap();

  StepResult result{sums.total(), {}, sums.stop()};
  require(uint64_t(result.sums.tokens) == batch.predictions, "[step] the batch has ", batch.predictions,
          " predictions, the shards of all ranks had ", uint64_t(result.sums.tokens));
  result.update = optimizer_.update(double(batch.predictions));
  seconds.compute += watch.lap();
  return result;
}

LossSums TrainStep::run_shard(uint64_t update, int number, const Shard& shard, bool last) {
  if (shard.predictions == 0) return {};  // fewer sentences than shards
  Tape tape(kernels_, {.record = true,
                       .training = true,
                       .seed = mix(mix(options_.seed, update), uint64_t(number)),
                       .precision = options_.precision,
                       .unit_cotangent = true});
  const LossResult result = model_.loss(tape, shard.input);
  if (last) reducer_->watch(tape);
  tape.backward(result.loss);
  return {result.sums.loss, result.sums.nll, double(result.sums.correct), double(result.sums.tokens)};
}

}  // namespace gyre
