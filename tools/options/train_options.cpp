#include "tools/options/train_options.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <tuple>

#include "gyre/core/kernels/kernels.h"
#include "gyre/train/checkpoint/run_directory.h"
#include "gyre/train/optim/schedule.h"
#include "tools/command_line/config_file.h"
#include "tools/command_line/foreign_options.h"
#include "tools/options/optimizer_rows.h"

namespace gyre {

namespace {

using Values = std::vector<std::string>;

void add_data_rows(OptionTable& table, TrainOptions& o) {
  table.group("Data");
  table.add_choice("--on-bad-line", o.data.on_bad_line, {"default", "error", "skip"},
                   "handling of bad lines; default: error for invalid UTF-8 and unequal line counts, skip for empty "
                   "and overlong lines");
  table.add_choice("--shuffle", o.batch.shuffle, {"data", "none"},
                   "shuffle the sentences in every epoch, or keep their order");
}

void add_batch_rows(OptionTable& table, TrainOptions& o, const TaskChoices& choices) {
  table.group("Batches");
  table.add("--mini-batch-words,--max-tokens", o.batch.size, "TOKENS",
            "size of the global batch, over all ranks and accumulation steps, in the unit of --batch-unit");
  table.add_choice("--batch-unit", o.batch.unit, choices.batch_units, choices.batch_unit_help);
  table.add_custom("--mini-batch,--batch-size", 1, 1, "SENTENCES",
                   "sentences per global batch: short for --mini-batch-words N --batch-unit sentences",
                   [&o](const Values& values) {
                     o.batch.size = parsed<uint64_t>(values.back());
                     o.batch.unit = "sentences";
                   });
  table.shorthand_of("mini-batch-words");
  table.add("--maxi-batch", o.batch.maxi_batch, "BATCHES", "number of batches that are sorted by length together");
  table.add("--optimizer-delay,--update-freq", o.parallel.accumulation, "NUMBER",
            "micro-batches whose gradients each rank accumulates for one update");
  table.add("--micro-batches,--shards", o.parallel.micro_batches, "NUMBER",
            "micro-batches per global batch; 0: one per rank and accumulation step, 8 with --deterministic");
  table.set_former_names({"shards"});
  table.add_flag("--deterministic", o.parallel.deterministic,
                 "write bit-identical checkpoints for any number of ranks up to --micro-batches, with one thread each");
}

void assign_warmup(const Values& values, ScheduleOptions& schedule) {
  std::tie(schedule.warmup, schedule.warmup_percent) = parse_updates_or_share(values.back());
}

void add_warmup_row(OptionTable& table, ScheduleOptions& a) {
  table.add_custom(
      "--lr-warmup,--warmup-updates", 1, 1, "UPDATES",
      "linear warm-up to the peak learning rate; 10%: share of all updates, the default with a pretrained model",
      [&a](const Values& values) { assign_warmup(values, a); },
      [&a] { return updates_or_share_toml(a.warmup, a.warmup_percent); });
}

void add_schedule_rows(OptionTable& table, TrainOptions& o, const TaskChoices& choices) {
  ScheduleOptions& a = o.optimizer.schedule;
  table.group("Learning rate");
  table.add("--learn-rate,-l,--lr", a.learning_rate, "RATE", choices.learning_rate_help);
  table.add_choice(
      "--lr-schedule,--lr-scheduler", a.kind, schedule_names(),
      "learning rate schedule after the warm-up; linear, cosine, polynomial and wsd (warm-up, stable, decay) "
      "end at --total-updates");
  add_warmup_row(table, a);
  table.add("--lr-warmup-start-rate,--warmup-init-lr", a.warmup_initial, "RATE",
            "initial learning rate of the warm-up");
  table.add("--lr-minimum,--stop-min-lr,--min-lr,--end-learning-rate", a.minimum_rate, "RATE",
            "minimum learning rate, at which cosine, polynomial and wsd end");
  table.add("--total-updates,--total-num-update", a.total_updates, "UPDATES",
            "update at which --lr-schedule ends; 0: the end of the run (--after)");
  table.add("--lr-power,--power", a.power, "NUMBER", "exponent of --lr-schedule polynomial; 1: linear");
  table.add_custom(
      "--lr-cooldown", 1, 1, "UPDATES",
      "updates of the decay at the end of --lr-schedule wsd; 20%: share of all updates",
      [&a](const Values& values) { std::tie(a.cooldown, a.cooldown_percent) = parse_cooldown(values.back()); },
      [&a] { return cooldown_toml(a.cooldown, a.cooldown_percent); });
  table.add_enum("--lr-cooldown-form", a.cooldown_form, "shape of the decay during the cooldown");
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

void add_time_row(OptionTable& table, TrainOptions& o) {
  table.add_custom(
      "--stop-after-minutes", 1, 1, "MINUTES",
      "save and stop after this much training time, summed over all jobs of the run; also 150s, 2h",
      [&o](const Values& values) { o.stop.minutes = minutes_in(values.back()); },
      [&o] { return toml_value(o.stop.minutes); });
}

void add_stop_rows(OptionTable& table, TrainOptions& o, const TaskChoices& choices) {
  const auto in_epochs = [&o](const Values& values) {
    o.stop.after = {parsed<uint64_t>(values.back()), Period::Unit::epochs};
  };
  table.group("Stopping, saving, validation");
  table.add("--after,-a,--max-update,--after-batches", o.stop.after, "PERIOD",
            "end of training: 100K (updates), 20e (epochs), 1Gt (target tokens); 0: only early stopping or the time "
            "limit ends the run");
  table.add_custom("--after-epochs,--max-epoch", 1, 1, "EPOCHS", "same as --after with the unit e", in_epochs);
  add_time_row(table, o);
  table.add("--patience,--early-stopping", o.stop.early_stopping, "VALIDATIONS",
            "early stopping: end after this many validations without improvement of the first metric; 0: never");
  table.add("--disp-freq,--log-interval", o.log.every, "PERIOD",
            "interval between training entries in metrics.jsonl and TensorBoard, each with a progress line in the log");
  table.add("--disp-seconds", o.log.seconds, "SECONDS",
            "also log progress by time: after the first update, then at intervals that grow up to this; 0: never");
  table.add("--save-freq,--save-interval-updates", o.checkpoint.every, "PERIOD", "interval between checkpoints");
  table.add("--valid-freq,--validate-interval-updates", o.validation.every, "PERIOD", "interval between validations");
  table.add("--valid-metrics", o.validation.metrics, "NAME...",
            joined(choices.valid_metrics) + "; the first one selects the best checkpoint and controls early stopping");
  table.set_completions(choices.valid_metrics);
}

void add_run_rows(OptionTable& table, TrainOptions& o) {
  table.group("Run");
  table.add("--model,-m,--save-dir", o.start.directory, "DIRECTORY",
            "run directory; training resumes a run that it contains");
  table.add_flag("--auto-resume,!--no-auto-resume", o.start.auto_resume,
                 "resume the run in the directory, or start a new one; if off, the directory must not contain a run");
  table.not_saved();
  table.add_flag("--overwrite", o.start.overwrite, "delete the run in the directory and start a new one");
  table.not_saved();
  table.add("--keep-last,--keep-interval-updates", o.checkpoint.saving.keep_last, "CHECKPOINTS",
            "number of recent checkpoints to keep, in addition to the best; 0: all");
  table.add("--keep-every,--keep-interval-updates-pattern", o.checkpoint.saving.keep_every, "UPDATES",
            "keep every checkpoint whose number of updates is a multiple of this; 0: none");
  table.add_flag("--save-in-background,!--no-save-in-background", o.checkpoint.saving.in_background,
                 "write checkpoints from a copy while training continues");
  table.add("--max-skipped", o.stop.max_skipped, "UPDATES",
            "maximum consecutive updates skipped because their gradient is not finite; one more ends the run and names "
            "the operation");
  table.group("State restored on resume");
  table.add_flag("--optimizer-reload,!--no-optimizer-reload,!--reset-optimizer", o.start.reload.optimizer,
                 "restore the optimizer's moments; if off, they and their bias correction restart, but the schedule "
                 "continues");
  table.not_saved();
  table.add_flag("--restore-corpus,!--no-restore-corpus,!--reset-dataloader", o.start.reload.position,
                 "restore the position in the data; if off, the first epoch starts again");
  table.not_saved();
  table.add_flag("--restore-best,!--no-restore-best,!--reset-meters", o.start.reload.best,
                 "restore the best value of each metric and the patience counter");
  table.not_saved();
}

// These options belong to no run, so they are not written to run/train.toml.
void add_replay_rows(OptionTable& table, TrainOptions& o) {
  table.group("Replay");
  table.add_custom("--replay", 1, 1, "CHECKPOINT",
                   "instead of training, repeat the updates after this checkpoint without writing anything, and name "
                   "the first operation whose result is not finite (see gyre inspect anomaly)",
                   [&o](const Values& values) { o.replay.checkpoint = values.back(); });
  table.add_custom("--replay-updates", 1, 1, "UPDATES", "maximum number of updates to replay",
                   [&o](const Values& values) { o.replay.updates = parsed<uint64_t>(values.back()); });
}

void add_parallel_rows(OptionTable& table, TrainOptions& o) {
  table.group("Device and ranks");
  table.add("--device", o.device.name, "DEVICE",
            "cpu; cuda: one GPU per rank, by its local rank on the machine; cuda:N: GPU number N");
  table.set_completions({"cpu", "cuda"});
  table.add_choice("--precision", o.device.precision, precision_names(),
                   "precision of activations and matrix products; weights, statistics, losses and the optimizer state "
                   "stay fp32; auto: bf16 if the device supports it");
  table.add_enum("--recompute", o.device.recompute,
                 "activations that backward computes again instead of keeping them, with the same gradients: those of "
                 "attention, or those of each layer except its input");
  table.add("--cpu-threads,--threads", o.device.threads, "THREADS",
            "threads per rank; 0: the cores of the machine divided among its ranks, at most OMP_NUM_THREADS");
  table.add("--bucket-mb,--bucket-cap-mb", o.parallel.bucket_mb, "MIB",
            "maximum size of a gradient bucket; buckets are reduced while backward is still running; default: 1, on "
            "GPUs 32");
  table.add_choice("--gradient-dtype", o.parallel.gradient_dtype, {"fp32", "bf16"},
                   "data type of gradients sent between ranks; sums are computed in fp32");
  table.add_flag("--shared-memory,!--no-shared-memory", o.parallel.shared_memory,
                 "ranks of one machine exchange gradients in shared memory, otherwise by messages");
  table.add("--zero", o.parallel.zero, "STAGE",
            "ZeRO stage; 1: shard the optimizer state over the ranks; 2: shard gradients too; 0: no sharding");
  table.add("--watchdog-timeout,--hang-timeout", o.parallel.watchdog_timeout, "SECONDS",
            "timeout of collective operations, after which the job aborts and names the missing ranks; ten times as "
            "long for validation and checkpoints; 0: none");
  table.set_former_names({"hang-timeout"});
  table.add_flag("--quiet", o.log.quiet, "print only warnings and errors on the terminal");
  table.not_saved();
}

}  // namespace

std::pair<uint64_t, double> parse_updates_or_share(const std::string& text) {
  const bool is_share = text.ends_with('%');
  if (is_share) return {0, parsed<double>(text.substr(0, text.size() - 1))};
  return {parsed<uint64_t>(text), 0};
}

std::string updates_or_share_toml(uint64_t updates, double percent) {
  return percent > 0 ? toml_string(toml_value(percent) + "%") : toml_value(updates);
}

std::pair<std::optional<uint64_t>, double> parse_cooldown(const std::string& text) {
  const auto [updates, percent] = parse_updates_or_share(text);
  if (percent != 0) return {std::nullopt, percent};
  return {updates, 0};
}

std::string cooldown_toml(std::optional<uint64_t> updates, double percent) {
  return updates_or_share_toml(updates.value_or(0), updates ? 0 : percent);
}

void add_train_options(OptionTable& table, TrainOptions& options, const TaskChoices& choices) {
  add_data_rows(table, options);
  add_batch_rows(table, options, choices);
  add_optimizer_rows(table, options.optimizer);
  table.add("--seed", options.seed, "NUMBER", "random seed of the initial weights, the data order and dropout");
  add_schedule_rows(table, options, choices);
  add_stop_rows(table, options, choices);
  add_run_rows(table, options);
  add_parallel_rows(table, options);
  add_replay_rows(table, options);
  table.required("model");
  table.set_common(split_list(
      {"config,task,preset,architecture,dim-emb,enc-depth,dec-depth,layers,position,attention,transformer-dropout",
       "train-sets,valid-sets,vocab,documents,max-length,labels,text-column,label-column,pretrained-model",
       "mini-batch-words,mini-batch,learn-rate,lr-schedule,lr-warmup,after,patience,disp-freq,save-freq",
       "valid-freq,valid-metrics,overwrite,device,precision,cpu-threads,seed"}));
}

void record_train_options(const OptionTable& table, TrainOptions& options) {
  options.record.toml = table.toml();
  options.record.notes = foreign_notes(table);
  if (table.resumes_run())
    options.record.notes.push_back("options: read from " + (options.start.directory / "train.toml").string());
}

void set_fine_tuning_warmup(const OptionTable& table, TrainOptions& options) {
  if (table.given("lr-warmup")) return;
  const Path file = options.start.directory / "train.toml";
  if (continues(options.start) && std::filesystem::exists(file)) {
    // Earlier versions began such runs with the default of other runs.
    for (const ConfigEntry& entry : read_config_file(file).entries)
      if (entry.name == "lr-warmup") return assign_warmup(entry.values, options.optimizer.schedule);
  }
  options.optimizer.schedule.warmup_percent = options.has_total_updates() ? kFineTuningWarmup : 0;
}

void check_train_options(const OptionTable& table, TrainOptions& options) {
  check_optimizer_options(table, options.optimizer);
  const bool validates = options.has_validation_data();
  const ScheduleOptions& schedule = options.optimizer.schedule;
  table.reject_unused("total-updates", schedule.needs_total_updates(),
                      concat("--lr-schedule ", schedule.kind, " does not end"));
  table.reject_unused("lr-power", find_schedule(schedule.kind).has_power, "--lr-schedule is not polynomial");
  for (const char* name : {"lr-cooldown", "lr-cooldown-form"})
    table.reject_unused(name, find_schedule(schedule.kind).has_cooldown, "--lr-schedule is not wsd");
  const bool warms_up = schedule.warmup > 0 || schedule.warmup_percent > 0;
  table.reject_unused("lr-warmup-start-rate", warms_up, "--lr-warmup is 0");
  for (const char* name : {"valid-freq", "valid-metrics", "patience"})
    table.reject_unused(name, validates, "there is no validation data");
}

}  // namespace gyre
