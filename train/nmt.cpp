#include "train/nmt.h"

#include <spdlog/spdlog.h>

#include <optional>

#include "core/error.h"
#include "core/kernels.h"
#include "core/version.h"
#include "train/log/logger.h"
#include "train/resume.h"
#include "train/trainer.h"

namespace gyre {
namespace {

constexpr int kDeterministicShards = 4;

int number_of_shards(const TrainOptions& options, const Communicator& ranks) {
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

TrainState fresh_state(const TrainOptions& options, const Communicator& ranks, const Kernels& kernels, int shards) {
  TrainState state;
  state.seed = options.seed;
  state.shards = shards;
  state.ranks = ranks.size();
  state.deterministic = options.deterministic;
  state.kernels = kernels.name();
  return state;
}

void introduce(const TrainOptions& options, const Communicator& ranks, const Kernels& kernels,
               const EncoderDecoder& model, const NmtData& data, int shards) {
  spdlog::info("gyre {} : {} : {} threads a rank : {} kernels on {} : {}", kVersion, ranks.name(), threads(),
               kernels.name(), kernels.device().text(), precision_name(parse_precision(options.precision, kernels)));
  spdlog::info("model: {:.2f} M parameters, {} pieces", double(model.parameters().elements()) / 1e6,
               model.config().vocab_size);
  spdlog::info("data: {} pairs, {} + {} tokens, {} updates an epoch", data.sentences(), data.tokens(0), data.tokens(1),
               data.batches());
  spdlog::info("a global batch is {} {} : {} shards : {}", options.batch_words,
               options.batch_unit == "sentences" ? "sentences" : options.batch_unit + " tokens", shards,
               options.deterministic ? "deterministic" : "fast");
}

std::optional<Validator> make_validator(const TrainOptions& options, const Vocabulary& vocabulary,
                                        EncoderDecoder& model, Kernels& kernels, Communicator& ranks) {
  const bool wanted = !options.valid_sets.empty() && !options.valid_metrics.empty();
  if (!wanted || options.validate_every.amount == 0) return std::nullopt;
  return std::optional<Validator>(std::in_place, read_validation_set(options, vocabulary, model.longest()), vocabulary,
                                  model, kernels, ranks, options);
}

// Rank 0's lock on the run directory; all ranks may look into it afterwards.
std::optional<RunDirectory> open_run(const TrainOptions& options, Communicator& ranks) {
  std::optional<RunDirectory> run;
  if (ranks.rank() == 0) run.emplace(options.model, options.overwrite);
  ranks.barrier();
  set_up_logging(
      {.file = options.model / "train.log", .rank = ranks.rank(), .ranks = ranks.size(), .quiet = options.quiet});
  return run;
}

}  // namespace

int train_nmt(const TrainOptions& options, EncoderDecoderConfig config, Communicator& ranks) {
  options.validate();
  const int shards = number_of_shards(options, ranks);
  require_enough_shards(shards, ranks);
  Kernels& kernels = kernels_on(parse_device(options.device, ranks.local_rank()));
  const Precision precision = parse_precision(options.precision, kernels);
  set_threads(options.threads > 0 ? options.threads : ranks.cores());
  const std::optional<RunDirectory> owned_run = open_run(options, ranks);
  const RunDirectory* run = owned_run ? &*owned_run : nullptr;

  const std::shared_ptr<const Vocabulary> vocabulary = load_vocabulary(options.vocabulary);
  config.vocab_size = vocabulary->size();
  NmtData data(options, *vocabulary, shards);
  EncoderDecoder model(config);
  model.parameters().allocate(options.seed, DType::f32, kernels.device());
  Optimizer optimizer(model.parameters(), kernels, options.optimizer);
  introduce(options, ranks, kernels, model, data, shards);

  TrainState state = fresh_state(options, ranks, kernels, shards);
  state.options = run_options(options, state, *vocabulary, data.checksum());
  if (resume(run, ranks, model, optimizer, state)) {
    spdlog::info("continuing after update {} (epoch {}, batch {})", state.progress.updates, state.progress.epoch + 1,
                 state.progress.batch);
  }
  if (run != nullptr) write_run_files(*run, options, config, *vocabulary);
  TrainStep step(model, optimizer, kernels, ranks,
                 {.seed = options.seed,
                  .shards = shards,
                  .deterministic = options.deterministic,
                  .label_smoothing = options.label_smoothing,
                  .bucket_mb = options.bucket_mb,
                  .precision = precision});
  std::optional<Validator> validator = make_validator(options, *vocabulary, model, kernels, ranks);
  Reporter reporter(run, options, state, data.batches());
  Trainer trainer({options, run, ranks, data, model, optimizer, step, validator ? &*validator : nullptr, reporter},
                  std::move(state));
  trainer.run();
  return 0;
}

}  // namespace gyre
