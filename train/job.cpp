#include "train/job.h"

#include <spdlog/spdlog.h>

#include <iostream>
#include <optional>

#include "core/counted.h"
#include "core/error.h"
#include "core/version.h"
#include "train/log/logger.h"
#include "train/replay.h"
#include "train/schedule.h"
#include "train/stop_signal.h"
#include "train/trainer.h"

namespace gyre {
namespace {

constexpr int kDeterministicShards = 8;

int number_of_shards(const TrainOptions& options, const Communicator& ranks) {
  if (!options.replay.empty()) return read_train_state(options.replay).shards;
  if (options.shards > 0 || options.deterministic) {
    if (options.accumulation > 1) {
      throw UsageError(
          "[--optimizer-delay] has no effect with --shards or --deterministic: the number of shards says "
          "what each rank works through");
    }
  }
  if (options.shards > 0) return options.shards;
  return options.deterministic ? kDeterministicShards : ranks.size() * options.accumulation;
}

void require_enough_shards(int shards, const Communicator& ranks) {
  require(shards >= ranks.size(), "[--shards] expected at least one shard for each of ", ranks.size(), " ranks, got ",
          shards);
}

ReducerOptions reducer_options(const TrainOptions& options, int shards) {
  return {.bucket_mb = options.bucket_mb,
          .shards = shards,
          .deterministic = options.deterministic,
          .wire = wire_type(options.gradient_dtype),
          .sharded = options.zero == 1};
}

TrainState fresh_state(const TrainOptions& options, const JobPlace& place) {
  TrainState state;
  state.seed = options.seed;
  state.shards = place.shards;
  state.ranks = place.ranks.size();
  state.deterministic = options.deterministic;
  state.kernels = place.kernels.name();
  return state;
}

void introduce(const TrainOptions& options, const JobPlace& place, const TaskParts& parts) {
  const Kernels& kernels = place.kernels;
  for (const std::string& note : options.notes) spdlog::info("{}", note);
  spdlog::info("gyre {} : {} : {} a rank : {} kernels on {} : {}", kVersion, place.ranks.name(),
               counted(threads(), "thread"), kernels.name(), kernels.device().text(), precision_name(place.precision));
  spdlog::info("model: {}, vocabulary of {}, {:.2f} M parameters", parts.model->describe(), parts.vocabulary->size(),
               double(parts.model->parameters().elements()) / 1e6);
  spdlog::info("data: {}, {} an epoch", parts.data->describe(), counted(parts.data->batches(), "update"));
  const std::string unit = options.batch_unit == "sentences" ? parts.data->item() : options.batch_unit + " token";
  spdlog::info("batch: {} in {}{}", counted(options.batch_words, unit), counted(place.shards, "shard"),
               options.deterministic ? ", deterministic" : "");
}

// Takes the directory of a new run away again unless the run begins.
class RunStart {
 public:
  explicit RunStart(const RunDirectory* run) : run_(run) {}
  ~RunStart() {
    if (run_ != nullptr) run_->abandon();
  }
  RunStart(const RunStart&) = delete;
  RunStart& operator=(const RunStart&) = delete;
  void done() { run_ = nullptr; }

 private:
  const RunDirectory* run_;
};

// Rank 0's lock on the run directory; all ranks may look into it afterwards. A replay leaves it alone.
std::optional<RunDirectory> open_run(const TrainOptions& options, Communicator& ranks) {
  std::optional<RunDirectory> run;
  const bool writes = options.replay.empty();
  if (ranks.rank() == 0 && writes) {
    run.emplace(options.model, options.overwrite);
    require(options.auto_resume || list_checkpoints(options.model).empty(), "[--no-auto-resume] ",
            options.model.string(), " holds a run: expected none, another --model, or --overwrite");
  }
  ranks.barrier();
  set_up_logging({.file = writes ? options.model / "train.log" : Path(),
                  .rank = ranks.rank(),
                  .ranks = ranks.size(),
                  .quiet = options.quiet});
  return run;
}

// Of the run that the checkpoint belongs to, in as many shards as it had there.
int replay_job(const TrainOptions& options, Communicator& ranks, const TaskParts& parts, Optimizer& optimizer,
               TrainStep& step, const TrainState& state) {
  require_same_run(options.replay, read_train_state(options.replay), state);
  const TrainState saved =
      load_checkpoint(options.replay, parts.model->parameters(), optimizer, options.reload.optimizer);
  const uint64_t first = saved.progress.updates + 1;
  spdlog::info("making updates {} to {} once more", first, saved.progress.updates + options.replay_updates);
  const std::optional<Anomaly> found = replay(step, *parts.data, saved.progress, options.replay_updates);
  if (ranks.rank() != 0) return 0;
  if (found) {
    std::cout << "update " << found->update << ": the norm of the gradient is " << found->gradient_norm << "; "
              << found->report << '\n';
  } else {
    std::cout << "updates " << first << " to " << saved.progress.updates + options.replay_updates
              << ": all gradients are finite\n";
  }
  return 0;
}

}  // namespace

int run_job(const TrainOptions& options, Communicator& ranks,
            const std::function<TaskParts(const JobPlace&)>& make_parts) {
  // From here on: reading the data may take long, and a job that a signal kills there would not be started again.
  std::optional<StopSignal> signals;
  if (options.replay.empty()) signals.emplace();
  const int shards = number_of_shards(options, ranks);
  require_enough_shards(shards, ranks);
  Kernels& kernels = kernels_on(parse_device(options.device, ranks.local_rank()));
  const JobPlace place{ranks, kernels, parse_precision(options.precision, kernels), shards};
  ranks.set_hang_timeout(options.hang_timeout);
  set_threads(options.threads > 0 ? options.threads : ranks.cores());
  const std::optional<RunDirectory> owned_run = open_run(options, ranks);
  const RunDirectory* run = owned_run ? &*owned_run : nullptr;
  RunStart start(run);

  ranks.enter(Phase::start, 0);
  TaskParts parts = make_parts(place);
  Parameters& parameters = parts.model->parameters();
  const OptimizerOptions rates = resolve_schedule(options.optimizer, options.after, parts.data->batches());
  GradientReducer reducer(ranks, kernels, parameters, reducer_options(options, shards));
  Optimizer optimizer(parameters, kernels, rates, &reducer);
  introduce(options, place, parts);

  TrainState state = fresh_state(options, place);
  state.options = run_options(options, rates, place.precision, state, *parts.vocabulary, parts.data->checksum());
  state.options.merge(parts.options);
  TrainStep step(*parts.model, optimizer, reducer, kernels, ranks,
                 {.seed = options.seed, .shards = shards, .precision = place.precision});
  if (!options.replay.empty()) return replay_job(options, ranks, parts, optimizer, step, state);
  if (resume(run, ranks, *parts.model, optimizer, state, options)) {
    spdlog::info("continuing after update {} (epoch {}, batch {})", state.progress.updates, state.progress.epoch + 1,
                 state.progress.batch);
  }
  const std::unique_ptr<Validation> validation = options.validates() ? parts.make_validation() : nullptr;
  if (run != nullptr) write_run_files(*run, options, *parts.model, *parts.vocabulary, parts.task);
  start.done();
  Reporter reporter(
      run, options, state,
      {.batches_per_epoch = parts.data->batches(), .item = parts.data->item(), .loss_name = parts.model->loss_name()});
  Trainer trainer({options, run, ranks, *parts.data, parameters, optimizer, step, validation.get(), reporter},
                  std::move(state));
  trainer.run();
  return 0;
}

}  // namespace gyre
