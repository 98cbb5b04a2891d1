#include "gyre/train/options.h"

#include <cmath>

#include "gyre/core/kernels/kernels.h"
#include "gyre/core/option_checks.h"
#include "gyre/train/optim/schedule.h"

namespace gyre {
namespace {

constexpr int kDeterministicMicroBatches = 8;
constexpr double kLargestBucket = 1'000'000;  // MiB

using Words = OptionValue::Words;

void declare_data(OptionList& list, DataOptions& data, BatchingOptions& batch) {
  list.group("Data");
  // Other lines make other training data, which the checkpoint is compared with.
  list.add(OnResume::same_bits, "--on-bad-line", &data.on_bad_line,
           "handling of bad lines; default: error for invalid UTF-8 and unequal line counts, skip for empty and "
           "overlong lines",
           OptionDetails{.values_called = {{"skip", {"skip-invalid-size-inputs-valid-test"}}}});
  list.add(OnResume::other_data, "--shuffle", &batch.shuffle,
           "shuffle the sentences in every epoch, or keep their order");
}

void declare_batches(OptionList& list, BatchingOptions& batch, ParallelOptions& parallel, const TaskWords& words) {
  list.group("Batches");
  list.add(
      OnResume::other_data, "--mini-batch-words,--max-tokens", &batch.size, "TOKENS",
      "size of the global batch, over all ranks and accumulation steps, in the unit of --batch-unit",
      {.bounds = at_least(1),
       .also_called = {"mini-batch-fit", "workspace"},
       .elsewhere = {{{"max-tokens"},
                      "fairseq",
                      "the batch of each GPU, counted by the longer side with padding",
                      "the global batch, in the unit of --batch-unit"},
                     {{"mini-batch-words"}, "Marian", "source words", "tokens, in the unit of --batch-unit", false}}});
  list.add(OnResume::other_data, "--batch-unit", one_of(&batch.unit, words.batch_units), words.batch_unit_help,
           OptionDetails{.also_called = {"batch-type"}});
  list.add_shorthand(
      "--mini-batch,--batch-size",
      {1, 1,
       [&batch](const Words& words) {
         batch.size = parsed<uint64_t>(words.back());
         batch.unit = BatchUnit::sentences;
       }},
      "SENTENCES", "sentences per global batch: short for --mini-batch-words N --batch-unit sentences",
      {.shorthand_of = "mini-batch-words",
       .also_called = {"per-device-train-batch-size", "train-batch-size", "global-batch-size", "batch", "bsz"},
       .elsewhere = {{{"batch-size"}, "fairseq", "the batch of each GPU", "the global batch"}}});
  list.add(OnResume::other_data, "--maxi-batch", &batch.maxi_batch, "BATCHES",
           "number of batches that are sorted by length together", {.bounds = at_least(1)});
  parallel.declare_micro_batches(list);
}

// Accepts minutes, or a number with a unit: "2.5", "150s", "2.5m", "2h".
double minutes_in(const std::string& text) {
  const std::string_view units = "smh";
  constexpr double kMinutes[] = {1.0 / 60, 1, 60};
  const size_t unit = text.empty() ? std::string_view::npos : units.find(text.back());
  const bool has_unit = unit != std::string_view::npos;
  const double amount = parsed<double>(has_unit ? text.substr(0, text.size() - 1) : text);
  if (!std::isfinite(amount) || amount < 0) throw UsageError("expected a time such as 2.5, 150s or 2h, got ", text);
  return has_unit ? amount * kMinutes[unit] : amount;
}

void declare_stopping(OptionList& list, StopOptions& stop) {
  list.add(OnResume::same_bits, "--after,-a,--max-update,--after-batches", &stop.after, "PERIOD",
           "end of training: 100K (updates), 20e (epochs), 1Gt (target tokens); 0: only early stopping or the time "
           "limit ends the run",
           {.also_called = {"max-steps", "max-iters", "train-iters", "train-steps", "steps", "num-steps", "total-steps",
                            "num-train-steps", "max-train-steps", "num-iterations", "iterations", "exit-interval",
                            "train-samples", "train.max-steps"},
            .values_called = {{"1Gt", {"train.max-tokens", "total-tokens", "train-tokens"}}}});
  list.add_shorthand("--after-epochs,--max-epoch",
                     {1, 1,
                      [&stop](const Words& words) {
                        stop.after = {parsed<uint64_t>(words.back()), Period::Unit::epochs};
                      }},
                     "EPOCHS", "same as --after with the unit e",
                     {.also_called = {"num-train-epochs", "epochs", "num-epochs", "n-epochs", "max-epochs"}});
  list.add(OnResume::same_bits, "--stop-after-minutes",
           {1, 1, [&stop](const Words& words) { stop.minutes = minutes_in(words.back()); },
            [&stop] { return toml_value(stop.minutes); }, [&stop] { return option_text(stop.minutes); }},
           "MINUTES", "save and stop after this much training time, summed over all jobs of the run; also 150s, 2h",
           {.also_called = {"stop-time-hours", "exit-duration-in-mins", "max-time"}});
  list.add(OnResume::same_bits, "--patience,--early-stopping", &stop.early_stopping, "VALIDATIONS",
           "early stopping: end after this many validations without improvement of the first metric; 0: never",
           {.bounds = at_least(0), .also_called = {"early-stopping-patience"}});
}

OptionValue period_above_0(Period* period) {
  OptionValue value(period);
  value.number = [period] { return std::optional(double(period->amount)); };
  return value;
}

Bounds above_0() { return {.expected = "a period above 0", .minimum = 1}; }

void declare_periods(OptionList& list, TrainOptions& o, const TaskWords& words) {
  list.add(OnResume::same_bits, "--disp-freq,--log-interval", period_above_0(&o.log.every), "PERIOD",
           "interval between training entries in metrics.jsonl and TensorBoard, each with a progress line in the log",
           {.bounds = above_0(),
            .also_called = {"logging-steps", "log-freq", "log-every", "report-every", "log-every-n-steps",
                            "train.log-interval"}});
  list.add(OnResume::same_bits, "--disp-seconds", &o.log.seconds, "SECONDS",
           "also log progress by time: after the first update, then at intervals that grow up to this; 0: never",
           {.bounds = finite_at_least(0)});
  list.add(OnResume::same_bits, "--save-freq,--save-interval-updates", period_above_0(&o.checkpoint.every), "PERIOD",
           "interval between checkpoints",
           {.bounds = above_0(),
            .also_called = {"save-steps", "save-every", "save-checkpoint-steps", "checkpoint-interval", "save-interval",
                            "always-save-checkpoint", "no-epoch-checkpoints", "save-strategy", "checkpoint.interval",
                            "checkpoint.enable", "train.save-interval"}});
  list.add(OnResume::same_bits, "--valid-freq,--validate-interval-updates", &o.validation.every, "PERIOD",
           "interval between validations",
           {.also_called = {"eval-steps", "eval-interval", "eval-every", "valid-steps", "val-check-interval",
                            "eval-strategy", "evaluation-strategy", "eval.interval", "validation.freq"},
            .values_called = {{"1e", {"validate-interval"}}}});
  // A validation by other metrics has other best values (ValidationBasis).
  list.add(OnResume::same_bits, "--valid-metrics", &o.validation.metrics, "NAME...",
           joined(words.valid_metrics) + "; the first one selects the best checkpoint and controls early stopping",
           {.completions = words.valid_metrics,
            .also_called = {"best-checkpoint-metric", "early-stopping-on", "metric-for-best-model"},
            .values_called = {{"bleu", {"eval-bleu", "eval-bleu-args", "eval-bleu-detok", "predict-with-generate"}}},
            .elsewhere = {{{"valid-metrics cross-entropy"}, "Marian", "per sentence", "per token, in nats", false},
                          {{"valid-metrics cross-entropy"}, "fairseq", "in bits", "per token, in nats", false}}});
  for (const char* name : {"patience", "valid-freq", "valid-metrics"})
    list.at(name).unused = [&o] { return o.has_validation_data() ? "" : "there is no validation data"; };
}

void declare_start(OptionList& list, StartOptions& start) {
  list.group("Run");
  list.add(OnResume::same_bits, "--model,-m,--save-dir", &start.directory, "DIRECTORY",
           "run directory; training resumes a run that it contains",
           {.required = true, .elsewhere = {{{"model"}, "Marian", "a file", "the run directory", false}}});
  list.add(OnResume::same_bits, "--auto-resume,!--no-auto-resume", &start.auto_resume,
           "resume the run in the directory, or start a new one; if off, the directory must not contain a run",
           {.saved = false});
  list.add(OnResume::same_bits, "--overwrite", &start.overwrite, "delete the run in the directory and start a new one",
           {.saved = false,
            .also_called = {"overwrite-output-dir", "no-reload"},
            .elsewhere = {{{"overwrite"},
                           "Marian",
                           "each save replaces the single model file",
                           "the run in the directory is deleted and a new one starts"}}});
}

void declare_saving(OptionList& list, SavingOptions& saving) {
  list.add(OnResume::same_bits, "--keep-last,--keep-interval-updates", &saving.keep_last, "CHECKPOINTS",
           "number of recent checkpoints to keep, in addition to the best; 0: all",
           {.bounds = at_least(0), .also_called = {"save-total-limit", "keep-last-epochs", "keep-latest-k"}});
  list.add(OnResume::same_bits, "--keep-every,--keep-interval-updates-pattern", &saving.keep_every, "UPDATES",
           "keep every checkpoint whose number of updates is a multiple of this; 0: none");
  list.add(OnResume::same_bits, "--save-in-background,!--no-save-in-background", &saving.in_background,
           "write checkpoints from a copy while training continues");
}

// The user asks for other results by these.
void declare_reload(OptionList& list, Reload& reload) {
  list.group("State restored on resume");
  list.add(
      OnResume::same_bits, "--optimizer-reload,!--no-optimizer-reload,!--reset-optimizer", &reload.optimizer,
      "restore the optimizer's moments; if off, they and their bias correction restart, but the schedule continues",
      {.saved = false});
  list.add(OnResume::same_bits, "--restore-corpus,!--no-restore-corpus,!--reset-dataloader", &reload.position,
           "restore the position in the data; if off, the first epoch starts again", {.saved = false});
  list.add(OnResume::same_bits, "--restore-best,!--no-restore-best,!--reset-meters", &reload.best,
           "restore the best value of each metric and the patience counter", {.saved = false});
}

void declare_device(OptionList& list, DeviceOptions& device) {
  list.group("Device and ranks");
  // The kernels of the device are compared with those of the checkpoint.
  list.add(OnResume::same_bits, "--device", &device.name, "DEVICE",
           "cpu; cuda: one GPU per rank, by its local rank on the machine; cuda:N: GPU number N",
           {.completions = {"cpu", "cuda"},
            .values_called = {{"cuda", {"devices", "gpu", "cuda"}}, {"cpu", {"cpu", "no-cuda", "use-cpu"}}}});
  list.add(OnResume::other_bits, "--precision",
           one_of(&device.precision, "auto", {std::begin(kTrainingPrecisions), std::end(kTrainingPrecisions)}),
           "precision of activations and matrix products; weights, statistics, losses and the optimizer state stay "
           "fp32; auto: bf16 if the device supports it",
           OptionDetails{.also_called = {"dtype", "torch-dtype", "mixed-precision", "mixed-precision-param"},
                         .values_called = {
                             {"tf32", {"tf32"}},
                             {"bf16", {"fp16", "bf16", "memory-efficient-fp16", "amp", "half", "bf16-full-eval"}}}});
  list.add(OnResume::same_bits, "--recompute", &device.recompute,
           "activations that backward computes again instead of keeping them, with the same gradients: those of "
           "attention, or those of each layer except its input",
           OptionDetails{
               .values_called = {{"block",
                                  {"gradient-checkpointing", "activation-checkpointing", "recompute-activations",
                                   "recompute-granularity", "activation-checkpoint.mode", "checkpoint-activations"}}}});
  list.add(OnResume::same_bits, "--cpu-threads,--threads", &device.threads, "THREADS",
           "threads per rank; 0: the cores of the machine divided among its ranks, at most OMP_NUM_THREADS",
           {.bounds = between(0, kMaxThreads),
            .also_called = {"data-threads", "num-threads", "jobs"},
            .elsewhere = {{{"cpu-threads 0"}, "Marian", "GPUs are used", "all cores are used", false}}});
}

// A replay belongs to no run, so these are not written to run/train.toml.
void declare_replay(OptionList& list, ReplayOptions& replay) {
  list.group("Replay");
  list.add(OnResume::same_bits, "--replay", {1, 1, [&replay](const Words& words) { replay.checkpoint = words.back(); }},
           "CHECKPOINT",
           "instead of training, repeat the updates after this checkpoint without writing anything, and name the first "
           "operation whose result is not finite (see gyre inspect anomaly)");
  list.add(OnResume::same_bits, "--replay-updates",
           {1, 1, [&replay](const Words& words) { replay.updates = parsed<uint64_t>(words.back()); }}, "UPDATES",
           "maximum number of updates to replay");
}

}  // namespace

void TrainOptions::declare_training(OptionList& list, const TaskWords& words) {
  declare_data(list, data, batch);
  declare_batches(list, batch, parallel, words);
  optimizer.declare(list);
  list.add(OnResume::other_data, "--seed", &seed, "NUMBER",
           "random seed of the initial weights, the data order and dropout");
  optimizer.schedule.declare(list);
  list.at("learn-rate").help = words.learning_rate_help;
  list.group("Stopping, saving, validation");
  declare_stopping(list, stop);
  declare_periods(list, *this, words);
  declare_start(list, start);
  declare_saving(list, checkpoint.saving);
  list.add(OnResume::same_bits, "--max-skipped", &stop.max_skipped, "UPDATES",
           "maximum consecutive updates skipped because their gradient is not finite; one more ends the run and names "
           "the operation",
           {.bounds = at_least(0),
            .also_called = {"check-gradient-nan", "check-for-nan-in-loss-and-grad", "dynamic-gradient-scaling",
                            "loss-scale"}});
  declare_reload(list, start.reload);
  declare_device(list, device);
  parallel.declare_exchange(list);
  list.add(OnResume::same_bits, "--quiet", &log.quiet, "print only warnings and errors on the terminal",
           {.saved = false});
  declare_replay(list, replay);
}

Option pretrained_model_option(Path* model) {
  OptionValue value(model);
  value.toml = [model] { return model->empty() ? "" : toml_value(*model); };  // an empty value would be a model
  return {"--pretrained-model,--init-from",
          value,
          "DIRECTORY",
          "run to start from; options of the model change its architecture",
          {.applies_first = true}};
}

bool TrainOptions::validates() const {
  return has_validation_data() && !validation.metrics.empty() && validation.every.amount > 0;
}

bool TrainOptions::has_total_updates() const {
  const bool ends = stop.after.amount > 0 && stop.after.unit != Period::Unit::target_tokens;
  return optimizer.schedule.total_updates > 0 || ends;
}

void TrainOptions::validate_update() const {
  OptionList::of(*this).check();
  optimizer.validate();
  parse_device(device.name, 0);  // throws if there is no such device
  parallel.validate();
}

void TrainOptions::validate() const {
  expect(!start.directory.empty(), "--model", "a run directory", "nothing");
  validate_update();
  expect(stop.after.amount > 0 || stop.early_stopping > 0 || stop.minutes.has_value(), "--after",
         "an end of the run (or --patience or --stop-after-minutes)", to_string(stop.after));
  expect_at_least(uint64_t{1}, "--replay-updates", replay.updates);
  expect(stop.early_stopping == 0 || validates(), "--patience",
         "0 without --valid-sets, --valid-metrics and --valid-freq", stop.early_stopping);
  expect(!optimizer.schedule.needs_total_updates() || has_total_updates(), "--total-updates",
         "the number of updates, since --after does not give it in updates or epochs",
         optimizer.schedule.total_updates);
  // The job resolves the schedule again, when it knows the updates of an epoch.
  const bool knows_updates = stop.after.amount > 0 && stop.after.unit == Period::Unit::updates;
  if (optimizer.schedule.total_updates > 0 || knows_updates)
    resolve_schedule(optimizer.schedule, knows_updates ? stop.after.amount : 0);
}

void ParallelOptions::declare_micro_batches(OptionList& list) {
  constexpr const char* kBatches = "this many batches make one update";
  constexpr const char* kParts =
      "the global batch stays the same, and each rank splits its part into this many micro-batches";
  // The number of micro-batches is compared with that of the checkpoint.
  list.add(OnResume::same_bits, "--optimizer-delay,--update-freq", &accumulation, "NUMBER",
           "micro-batches whose gradients each rank accumulates for one update",
           {.bounds = between(1, kMaxMicroBatches),
            .also_called = {"gradient-accumulation-steps", "grad-accum", "accumulate-grad-batches", "accum-count"},
            .elsewhere = {{{"update-freq"}, "fairseq", kBatches, kParts},
                          {{"optimizer-delay"}, "Marian", kBatches, kParts}}});
  list.add(OnResume::same_bits, "--micro-batches", &micro_batches, "NUMBER",
           "micro-batches per global batch; 0: one per rank and accumulation step, 8 with --deterministic",
           {.bounds = between(0, kMaxMicroBatches)});
  list.add(OnResume::other_bits, "--deterministic", &deterministic,
           "write bit-identical checkpoints for any number of ranks up to --micro-batches, with one thread each");
}

void ParallelOptions::declare_exchange(OptionList& list) {
  list.add(
      OnResume::other_bits, "--bucket-mb,--bucket-cap-mb", &bucket_mb, "MIB",
      "maximum size of a gradient bucket; buckets are reduced while backward is still running; default: 1, on GPUs 32");
  list.add(OnResume::other_bits, "--gradient-dtype", &gradient_dtype,
           "data type of gradients sent between ranks; sums are computed in fp32");
  list.add(OnResume::same_bits, "--shared-memory,!--no-shared-memory", &shared_memory,
           "ranks of one machine exchange gradients in shared memory, otherwise by messages");
  list.add(OnResume::same_bits, "--zero", &zero, "STAGE",
           "ZeRO stage; 1: shard the optimizer state over the ranks; 2: shard gradients too; 0: no sharding",
           {.bounds = Bounds{.expected = "stage 0, 1 or 2", .minimum = 0, .maximum = 2},
            .also_called = {"sharding", "use-distributed-optimizer", "deepspeed", "zero-stage"},
            .values_called = {{"2", {"fsdp", "data-parallel-shard-degree"}}}});
  list.add(OnResume::same_bits, "--watchdog-timeout", &watchdog_timeout, "SECONDS",
           "timeout of collective operations, after which the job aborts and names the missing ranks; ten times as "
           "long for validation and checkpoints; 0: none",
           {.bounds = finite_at_least(0)});
}

void ParallelOptions::declare(OptionList& list) {
  declare_micro_batches(list);
  declare_exchange(list);
}

void ParallelOptions::validate() const {
  OptionList::of(*this).check();
  if (accumulation > 1 && fixes_micro_batches()) {
    throw UsageError(
        "[--optimizer-delay] has no effect with --micro-batches or --deterministic: the number of micro-batches "
        "determines the work of each rank");
  }
  const double bucket = bucket_mb_on(Device{});
  expect(bucket > 0 && bucket <= kLargestBucket, "--bucket-mb", concat("a number above 0 and at most ", kLargestBucket),
         bucket);
  expect(!deterministic || gradient_dtype == GradientDtype::fp32, "--gradient-dtype",
         "fp32 with --deterministic (in bf16 the sums depend on the number of ranks)", enum_name(gradient_dtype));
}

int ParallelOptions::micro_batches_on(int ranks) const {
  if (micro_batches > 0) return micro_batches;
  return deterministic ? kDeterministicMicroBatches : ranks * accumulation;
}

}  // namespace gyre
