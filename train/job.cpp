#include "gyre/train/job.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/core/hardware/blas.h"
#include "gyre/core/hardware/cores.h"
#include "gyre/core/io/json.h"
#include "gyre/core/kernels/amx.h"
#include "gyre/core/number_text.h"
#include "gyre/core/option_checks.h"
#include "gyre/core/version.h"
#include "gyre/data/tokenizer/tokenizer_config.h"
#include "gyre/train/checkpoint/checkpoint.h"
#include "gyre/train/fault_injector.h"
#include "gyre/train/log/console.h"
#include "gyre/train/machine_use.h"
#include "gyre/train/optim/schedule.h"
#include "gyre/train/optim/update_plan.h"
#include "gyre/train/optim/update_rule.h"
#include "gyre/train/parallel/stop_signal.h"
#include "gyre/train/piped_text.h"
#include "gyre/train/step.h"
#include "gyre/train/trainer.h"

namespace gyre {
namespace {

// A replay uses as many micro-batches as the run did.
int number_of_micro_batches(const ParallelOptions& parallel, const ReplayOptions& replay, int ranks) {
  const int micro_batches =
      replay.checkpoint.empty() ? parallel.micro_batches_on(ranks) : read_train_state(replay.checkpoint).micro_batches;
  require(micro_batches >= ranks, "[--micro-batches] expected at least one micro-batch for each of ", ranks,
          " ranks, got ", micro_batches);
  return micro_batches;
}

JobContext open_job_context(const DeviceOptions& device, Communicator& ranks, int micro_batches) {
  Kernels& kernels = kernels_on(parse_device(device.name, ranks.local_rank()));
  set_threads(choose_threads(device.threads, ranks.cores()).threads);
  return {ranks, kernels, precision_on(kernels, device.precision), micro_batches};
}

ReducerOptions reducer_options(const TrainOptions& options, const JobContext& context, const Parameters& parameters) {
  const ParallelOptions& parallel = options.parallel;
  const bool sharded = parallel.zero >= 1, whole = make_update_rule(options.optimizer)->updates_matrices();
  return {.bucket_mb = parallel.bucket_mb_on(context.kernels.device()),
          .micro_batches = context.micro_batches,
          .deterministic = parallel.deterministic,
          .comm_dtype = dtype_of(parallel.gradient_dtype),
          .shared_memory = parallel.shared_memory,
          .sharded = sharded,
          .shards_gradients = parallel.zero == 2,
          .spans = sharded && whole ? spans_of_matrices(parameters, context.ranks.size()) : std::vector<ArenaSpan>()};
}

OptimizerOptions resolve_optimizer(OptimizerOptions options, const Period& after, uint64_t updates_per_epoch,
                                   Precision precision) {
  options.schedule = resolve_schedule(options.schedule, after.in_updates(updates_per_epoch));
  return in_precision(std::move(options), precision);
}

// Collective.
void compare_kernels(const TrainOptions& options, const JobContext& context) {
  Communicator& ranks = context.ranks;
  const std::vector<std::string> kernels = ranks.gather(kernels_text(context.kernels, context.precision), 0);
  const std::string difference = kernels_difference(kernels);
  const std::string conflict = ranks.broadcast_text(kernels_conflict(kernels, options), 0);
  require(conflict.empty(), conflict);
  if (!difference.empty())
    spdlog::warn("{}: another division of the work among the ranks gives other bits", difference);
}

// The number of updates of the run, estimated from its first batch if its end is a number of tokens; 0: unknown.
uint64_t planned_updates(const Period& after, TrainingData& data) {
  if (after.unit != Period::Unit::target_tokens) return after.in_updates(data.batches());
  data.start_epoch(0, 0);
  const uint64_t tokens = data.batch(0, /*own=*/{}).target_tokens;
  return tokens > 0 ? (after.amount + tokens - 1) / tokens : 0;
}

void warn_of_long_warmup(const ScheduleOptions& schedule, uint64_t updates) {
  if (const std::string warning = long_warmup_warning(schedule, updates); !warning.empty()) spdlog::warn("{}", warning);
}

// For the schedule of the run up to the last stage that has it, and for each schedule of a stage.
void warn_of_long_warmups(const OptimizerOptions& optimizer, const std::vector<RunStage>& stages, uint64_t updates) {
  if (stages.empty()) return warn_of_long_warmup(optimizer.schedule, updates);
  size_t of_run = stages.size();
  for (size_t i = 0; i < stages.size(); ++i) {
    const RateStage& stage = optimizer.rate_stages[i];
    if (stage.is_own) {
      warn_of_long_warmup(stage.schedule, stages[i].updates);
    } else {
      of_run = i;
    }
  }
  if (of_run < stages.size()) warn_of_long_warmup(optimizer.rate_stages[of_run].schedule, stages[of_run].end());
}

// The options of the run with the values that they have in this job, and what else its results depend on.
RunIdentity run_identity(const TrainOptions& options, const OptimizerOptions& optimizer, const JobContext& context,
                         const TaskParts& parts) {
  RunIdentity identity;
  const std::unique_ptr<TrainOptions> defaults = options.with_defaults();
  identity.add(OptionList::of(options), OptionList::of(*defaults));
  identity.add(OptionList::of(optimizer), OptionList::of(defaults->optimizer));
  identity.add(OptionList::of(optimizer.schedule), OptionList::of(defaults->optimizer.schedule));
  const Json config = parts.model->config();
  for (const auto& [key, value] : config.items()) {
    std::string name = key;
    std::ranges::replace(name, '_', '-');
    identity.options.of_bits.erase(name);  // config.json records it
  }
  auto& [of_data, of_bits] = identity.options;
  of_data["training data"] = hexadecimal(parts.data->checksum());
  of_data["vocabulary"] = hexadecimal(parts.vocabulary.vocabulary->fingerprint());
  if (parts.lora) of_data[kBaseOption] = parts.lora->digest;
  of_bits["precision"] = enum_name(context.precision);
  of_bits["kernels"] = kernels_text(context.kernels, context.precision);
  // In deterministic mode the result depends on the tree over the micro-batches, but not on the number of ranks.
  (options.parallel.deterministic ? of_data : of_bits)[kMicroBatchesOption] = std::to_string(context.micro_batches);
  for (const auto& [name, value] : parts.options.of_data) of_data[name] = value;
  for (const auto& [name, value] : parts.options.of_bits) of_bits[name] = value;
  return identity;
}

TrainState fresh_state(const TrainOptions& options, const JobContext& context) {
  TrainState state;
  state.seed = options.seed;
  state.micro_batches = context.micro_batches;
  state.ranks = context.ranks.size();
  state.deterministic = options.parallel.deterministic;
  state.kernels = kernels_text(context.kernels, context.precision);
  return state;
}

// Says how many parameters are trained if some are not.
std::string trained_text(const Parameters& parameters) {
  int64_t trained = 0;
  for (const Parameter& p : parameters) trained += p.trainable ? p.shape.elements() : 0;
  return trained == parameters.elements() ? "" : fmt::format(", of which {:.2f} M are trained", double(trained) / 1e6);
}

void log_job(const std::vector<std::string>& notes, const std::string& thread_limit, const BatchingOptions& batch,
             bool deterministic, const JobContext& context, const TaskParts& parts) {
  const Kernels& kernels = context.kernels;
  for (const std::string& note : notes) spdlog::info("{}", note);
  spdlog::info("gyre {} : {} : {} per rank : {} kernels on {} : {}", kVersion, context.ranks.name(),
               counted(threads(), "thread"), kernels_text(kernels, context.precision), to_string(kernels.device()),
               enum_name(context.precision));
  if (!thread_limit.empty()) spdlog::info("{}", thread_limit);
  const Parameters& parameters = parts.model->parameters();
  if (const std::string note = parts.vocabulary.vocabulary->note(); !note.empty()) spdlog::warn("{}", note);
  spdlog::info("model: {}, vocabulary of {}, {:.2f} M parameters{}", parts.model->describe(),
               parts.vocabulary.vocabulary->size(), double(parameters.elements()) / 1e6, trained_text(parameters));
  const std::string parts_of_batch =
      concat(counted(context.micro_batches, "micro-batch"), deterministic ? ", deterministic" : "");
  if (!parts.stages.empty()) {
    spdlog::info("stages: {}, {} in all; batches in {}", parts.stages.size(),
                 counted(parts.stages.back().end(), "update"), parts_of_batch);
    return;
  }
  spdlog::info("data: {}, {} per epoch", parts.data->describe(), counted(parts.data->batches(), "update"));
  const std::string unit =
      batch.unit == BatchUnit::sentences ? parts.data->item() : concat(enum_name(batch.unit), " token");
  spdlog::info("batch: {} in {}", counted(batch.size, unit), parts_of_batch);
}

// Removes the directory of a new run if the start of the run fails.
class NewRunGuard {
 public:
  explicit NewRunGuard(const RunDirectory* run) : run_(run) {}
  ~NewRunGuard() {
    if (run_ != nullptr) run_->abandon();
  }
  NewRunGuard(const NewRunGuard&) = delete;
  NewRunGuard& operator=(const NewRunGuard&) = delete;
  void done() { run_ = nullptr; }

 private:
  const RunDirectory* run_;
};

// Opens and locks the run directory on rank 0; all ranks may read it afterward. A replay does not open it, because it
// writes nothing.
std::optional<RunDirectory> open_run(const StartOptions& options, bool writes, bool quiet, Communicator& ranks) {
  std::optional<RunDirectory> run;
  if (ranks.rank() == 0 && writes) {
    run.emplace(options.directory);
    require(options.auto_resume || !continues(options), "[--no-auto-resume] ", options.directory.string(),
            " holds a run: expected none, another --model, or --overwrite");
  }
  ranks.barrier();
  set_up_logging({.file = writes ? options.directory / "train.log" : Path(),
                  .rank = ranks.rank(),
                  .ranks = ranks.size(),
                  .quiet = quiet});
  return run;
}

// The copy's path run/vocab.<extension of the original>, or the path of the original if it is already a vocab.* file in
// the run directory.
Path vocabulary_copy(const RunDirectory& run, const Path& original) {
  std::error_code ignored;
  const bool inside = std::filesystem::equivalent(original.parent_path() / ".", run.path(), ignored);
  if (inside && original.filename().string().starts_with("vocab.")) return original;
  return run.path() / ("vocab" + (original.has_extension() ? original.extension().string() : ".model"));
}

// Writes config.json, train.toml, a copy of the vocabulary and task.json, if any. Call it after resume(), when the
// options are known to match the run.
void write_run_files(const RunDirectory& run, const TrainOptions& options, const TaskParts& parts) {
  write_file(run.config(), parts.model->config().dump(2) + "\n");
  write_file(run.options(), options.record.toml);
  const Path vocabulary = vocabulary_copy(run, parts.vocabulary.path);
  parts.vocabulary.vocabulary->save(vocabulary);
  if (options.start.overwrite) run.remove_other_vocabularies(vocabulary);
  if (!parts.task.is_null()) write_file(run.task(), json_text(parts.task, 2) + "\n");
  if (parts.lora) write_file(lora_path(run.path()), json_text(parts.lora->to_json(run.path()), 2) + "\n");
  if (!parts.chat_template.empty()) write_file(run.path() / kChatTemplateFile, parts.chat_template);
}

// A run cannot end before the updates that its checkpoint has.
void require_within_stages(const Progress& progress, const std::vector<RunStage>& stages) {
  if (stages.empty()) return;
  expect(progress.updates <= stages.back().end(), "stages",
         concat("at least the ", progress.updates, " updates of the run so far"), stages.back().end());
}

// Ends the current epoch if a stage ends here. It has ended already unless the stage was made shorter, after the
// updates until here. Returns whether it had not.
bool end_epoch_at_stage(Progress& progress, const std::vector<RunStage>& stages) {
  for (const RunStage& stage : stages) {
    if (stage.end() != progress.updates || progress.batch == 0) continue;
    ++progress.epoch;
    progress.batch = 0;
    return true;
  }
  return false;
}

ReplayResult replay_from_checkpoint(const ReplayOptions& options, const Reload& reload, const TaskParts& parts,
                                    Optimizer& optimizer, TrainStep& step, const RunIdentity& identity) {
  verify_manifest(options.checkpoint);
  require_same_run(options.checkpoint, read_train_state(options.checkpoint), identity);
  TrainState saved = load_checkpoint(options.checkpoint, parts.model->parameters(), optimizer, reload.optimizer);
  end_epoch_at_stage(saved.progress, parts.stages);
  const uint64_t updates = saved.progress.updates;
  spdlog::info("repeating updates {} to {}", updates + 1, updates + options.updates);
  return replay(step, *parts.data, saved.progress, options.updates);
}

}  // namespace

std::string kernels_text(const Kernels& kernels, Precision precision) {
  std::string text = kernels.name();
  if (kernels.device().kind != Device::Kind::cpu) return text;
  if (multiplies_by_blas()) text += " with OpenBLAS " + blas_kernels();
  if (precision == Precision::bf16 && uses_amx() && kernels.name() == "cpu_v4") text += " with AMX";
  return text;
}

std::string kernels_difference(const std::vector<std::string>& kernels) {
  for (size_t rank = 1; rank < kernels.size(); ++rank) {
    if (kernels[rank] != kernels[0])
      return concat("rank 0 has ", kernels[0], " kernels and rank ", rank, " ", kernels[rank],
                    ", which round differently");
  }
  return "";
}

std::string kernels_conflict(const std::vector<std::string>& kernels, const TrainOptions& options) {
  const std::string difference = kernels_difference(kernels);
  if (difference.empty()) return "";
  if (options.parallel.deterministic)
    return concat(
        "[--deterministic] ", difference,
        ": use machines of one kind, or leave out --deterministic, which promises the same bits for any ranks");
  if (options.parallel.zero > 0) return "";
  // Elementwise update rules round alike on all CPUs, because each adds a product in one rounding.
  if (!make_update_rule(options.optimizer)->updates_matrices()) return "";
  return concat(
      "[--optimizer ", options.optimizer.kind, "] ", difference,
      ", so that the weights of the ranks would drift apart: use --zero 1, by which one rank updates a weight for "
      "all, or machines of one kind");
}

std::optional<ReplayResult> run_job(const TrainOptions& options, Communicator& ranks,
                                    const std::function<TaskParts(const JobContext&)>& make_parts) {
  // Handle signals from here on: reading the data may take long, and a job that a signal kills during that time would
  // not be restarted.
  const bool trains = options.replay.checkpoint.empty();
  for (const std::string& metric : options.validation.metrics) higher_is_better(metric);  // throws if it is not listed
  std::optional<StopSignal> signals;
  if (trains) signals.emplace();
  const int micro_batches = number_of_micro_batches(options.parallel, options.replay, ranks.size());
  const JobContext context = open_job_context(options.device, ranks, micro_batches);
  allow_blas_products(!options.parallel.deterministic);
  ranks.set_watchdog_timeout(options.parallel.watchdog_timeout);
  FaultInjector::check_environment();  // errors come before the run directory is made
  std::optional<RunDirectory> owned_run = open_run(options.start, trains, options.log.quiet, ranks);
  RunDirectory* const run = owned_run ? &*owned_run : nullptr;
  FaultInjector faults(ranks, run);
  NewRunGuard new_run(run);
  compare_kernels(options, context);

  ranks.enter(Phase::start, 0);
  for (const auto& files : {options.data.train_sets, options.data.valid_sets}) share_piped_text(files, ranks);
  TaskParts parts = make_parts(context);
  Parameters& parameters = parts.model->parameters();
  faults.set_parameters(parameters);
  const OptimizerOptions optimizer_options =
      resolve_optimizer(options.optimizer, options.stop.after, parts.data->batches(), context.precision);
  freeze(parameters, options.optimizer.frozen);
  GradientReducer reducer(ranks, context.kernels, parameters, reducer_options(options, context, parameters));
  Optimizer optimizer(parameters, context.kernels, optimizer_options, &reducer);
  const ThreadChoice choice = choose_threads(options.device.threads, ranks.cores());
  log_job(options.record.notes, choice.limit, options.batch, options.parallel.deterministic, context, parts);
  if (const std::string note = ranks.core_note(); !note.empty() && ranks.local_rank() == 0) spdlog::warn("{}", note);

  TrainState state = fresh_state(options, context);
  const RunIdentity identity = run_identity(options, optimizer_options, context, parts);
  state.options = identity.options;
  TrainStep step(*parts.model, optimizer, reducer, context.kernels, ranks,
                 {.seed = options.seed,
                  .micro_batches = micro_batches,
                  .precision = context.precision,
                  .recompute = options.device.recompute});
  if (!trains) return replay_from_checkpoint(options.replay, options.start.reload, parts, optimizer, step, identity);
  const std::unique_ptr<Validation> validation = options.validates() ? parts.make_validation() : nullptr;
  ranks.barrier();  // all ranks can start
  if (run != nullptr && options.start.overwrite) run->remove_old_run();
  if (validation) state.validation_basis = validation->basis();
  const std::string deciding_metric = options.validates() ? options.validation.metrics.front() : "";
  if (resume(run, ranks, *parts.model, optimizer, identity, state, options.start.reload, deciding_metric)) {
    require_within_stages(state.progress, parts.stages);
    if (end_epoch_at_stage(state.progress, parts.stages)) state.validation_due = true;  // each stage ends with one
    spdlog::info("continuing after update {} (epoch {}, batch {})", state.progress.updates, state.progress.epoch + 1,
                 state.progress.batch);
  }
  if (run != nullptr) write_run_files(*run, options, parts);
  new_run.done();
  if (ranks.rank() == 0)
    warn_of_long_warmups(optimizer_options, parts.stages, planned_updates(options.stop.after, *parts.data));
  const ProductsLimit limit = products_limit(context.kernels, context.precision, ranks);
  spdlog::info("limit of matrix products: {}{}", limit.flops > 0 ? format_flops(limit.flops, 0) + ", " : "",
               limit.source);
  Reporter reporter(run, options.log, options.stop, deciding_metric, state,
                    {.batches_per_epoch = parts.data->batches(),
                     .item = parts.data->item(),
                     .loss_name = parts.model->loss_name(),
                     .stages = parts.stages,
                     .limit = limit,
                     .device = context.kernels.device()});
  Trainer trainer({options.stop, options.validation, options.checkpoint, options.log.every, parts.stages, run, ranks,
                   *parts.data, parameters, optimizer, step, validation.get(), reporter},
                  std::move(state));
  trainer.run();
  return std::nullopt;
}

}  // namespace gyre
