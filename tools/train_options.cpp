#include "tools/train_options.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "core/kernels.h"
#include "tools/foreign_options.h"

namespace gyre {

namespace {

using Values = std::vector<std::string>;

template <class T>
T parsed(const std::string& text) {
  T value{};
  parse_value(text, value);
  return value;
}

// "(0.9, 0.98)" as fairseq writes it, or plain numbers.
std::vector<double> numbers_in(const Values& values, size_t count) {
  std::string text;
  for (const auto& value : values) text += value + " ";
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '(' || c == ')' || c == ','; }, ' ');
  std::vector<double> numbers;
  std::istringstream words(text);
  for (std::string word; words >> word;) numbers.push_back(parsed<double>(word));
  if (numbers.size() != count) throw UsageError("expected ", count, " numbers, got ", numbers.size());
  return numbers;
}

void add_data_rows(OptionTable& table, TrainOptions& o) {
  table.group("Data");
  table.add_choice(
      "--on-bad-line", o.on_bad_line, {"default", "error", "skip"},
      "what a bad line does; default: error for bad UTF-8 and unequal counts, skip for empty and overlong");
  table.add_choice("--shuffle", o.shuffle, {"data", "none"}, "order of the sentences in an epoch");
}

void add_batch_rows(OptionTable& table, TrainOptions& o, const TaskChoices& choices) {
  table.group("Batches");
  table.add("--mini-batch-words,--max-tokens", o.batch_words, "TOKENS",
            "size of a global batch, over all ranks and accumulation steps, in the unit of --batch-unit");
  table.add_choice("--batch-unit", o.batch_unit, choices.batch_units, choices.batch_unit_help);
  table.add_custom("--mini-batch,--batch-size", 1, 1, "SENTENCES",
                   "a global batch of so many sentences: short for --mini-batch-words N --batch-unit sentences",
                   [&o](const Values& values) {
                     o.batch_words = parsed<uint64_t>(values.back());
                     o.batch_unit = "sentences";
                   });
  table.yields_to("mini-batch-words");
  table.add("--maxi-batch", o.maxi_batch, "BATCHES", "batches that are sorted by length together");
  table.add("--optimizer-delay,--update-freq", o.accumulation, "SHARDS", "shards a rank adds up for one update");
  table.add("--shards", o.shards, "SHARDS",
            "shards of a global batch; 0: one per rank and accumulation step, 8 with --deterministic");
  table.add_flag("--deterministic", o.deterministic,
                 "the same checkpoint bits for any number of ranks up to --shards, of one thread each");
}

void add_optimizer_rows(OptionTable& table, TrainOptions& o) {
  OptimizerOptions& a = o.optimizer;
  table.group("Optimizer");
  table.add_choice("--optimizer,-o", a.kind, {"adam", "adamw"}, "adam, or adamw with decoupled weight decay");
  table.add_custom(
      "--optimizer-params", 3, 3, "BETA1 BETA2 EPSILON", "Adam's decay rates and epsilon",
      [&a](const Values& values) {
        const auto n = numbers_in(values, 3);
        a.beta1 = n[0], a.beta2 = n[1], a.epsilon = n[2];
      },
      [&a] {
        return toml_value(std::vector<double>{a.beta1, a.beta2, a.epsilon});
      });
  table.add_custom("--adam-betas", 1, 2, "BETA1 BETA2", "the first two of --optimizer-params",
                   [&a](const Values& values) {
                     const auto n = numbers_in(values, 2);
                     a.beta1 = n[0], a.beta2 = n[1];
                   });
  table.add_custom("--adam-eps", 1, 1, "NUMBER", "the third of --optimizer-params",
                   [&a](const Values& values) { a.epsilon = parsed<double>(values.back()); });
  table.add("--weight-decay", a.weight_decay, "NUMBER", "decoupled, with --optimizer adamw; 0: none");
  table.add("--clip-norm", a.clip_norm, "NORM", "gradients are scaled down to this global norm; 0: never");
  table.add("--ema,--ema-decay", a.ema, "NUMBER", "decay of the moving average of the weights; 0: none");
  table.add_custom("--exponential-smoothing", 1, 1, "NUMBER", "Marian's factor: 1 - the decay of --ema; 0: none",
                   [&a](const Values& values) {
                     const double factor = parsed<double>(values.back());
                     if (factor < 0 || factor > 0.5)
                       throw UsageError("expected Marian's small factor such as 1e-4, got ", factor,
                                        "; for a decay such as 0.999 use --ema");
                     a.ema = factor == 0 ? 0 : 1 - factor;
                   });
  table.add("--seed", o.seed, "NUMBER", "of initial weights, order of the data and dropout");
}

// A number of updates, or a share of all of them: "4000", "10%".
void add_warmup_row(OptionTable& table, OptimizerOptions& a) {
  table.add_custom(
      "--lr-warmup,--warmup-updates", 1, 1, "UPDATES", "linear rise to the peak; 10%: of all updates",
      [&a](const Values& values) {
        const std::string& text = values.back();
        const bool is_share = text.ends_with('%');
        a.warmup_percent = is_share ? parsed<double>(text.substr(0, text.size() - 1)) : 0;
        a.warmup = is_share ? 0 : parsed<uint64_t>(text);
      },
      [&a] { return a.warmup_percent > 0 ? toml_string(toml_value(a.warmup_percent) + "%") : toml_value(a.warmup); });
}

void add_schedule_rows(OptionTable& table, TrainOptions& o, const TaskChoices& choices) {
  OptimizerOptions& a = o.optimizer;
  table.group("Learning rate");
  table.add("--learn-rate,-l,--lr", a.learning_rate, "RATE", choices.learning_rate_help);
  table.add_choice("--lr-schedule,--lr-scheduler", a.schedule, {"inverse-sqrt", "linear", "constant"},
                   "after the warm-up; linear falls to 0 at --total-updates");
  add_warmup_row(table, a);
  table.add("--lr-warmup-start-rate,--warmup-init-lr", a.warmup_initial, "RATE", "where the rise begins");
  table.add("--lr-minimum,--stop-min-lr,--min-lr", a.minimum_rate, "RATE", "the rate falls no lower");
  table.add("--total-updates,--total-num-update", a.total_updates, "UPDATES",
            "end of --lr-schedule linear; 0: that of the run, --after");
}

// Minutes, or with its unit: "2.5", "150s", "2.5m", "2h".
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
      "the run saves and ends after this much training, counted over all jobs that worked on it; also 150s, 2h",
      [&o](const Values& values) { o.stop_after_time_minutes = minutes_in(values.back()); },
      [&o] { return toml_value(o.stop_after_time_minutes); });
}

void add_stop_rows(OptionTable& table, TrainOptions& o, const TaskChoices& choices) {
  const auto in_epochs = [&o](const Values& values) {
    o.after = {parsed<uint64_t>(values.back()), Period::Unit::epochs};
  };
  table.group("End, saving, validation");
  table.add("--after,-a,--max-update,--after-batches", o.after, "PERIOD",
            "the end: 100K (updates), 20e (epochs), 1Gt (target tokens); 0: only early stopping or time ends the run");
  table.add_custom("--after-epochs,--max-epoch", 1, 1, "EPOCHS", "the same as --after with e", in_epochs);
  add_time_row(table, o);
  table.add("--early-stopping,--patience", o.early_stopping, "VALIDATIONS",
            "the run ends after this many without a better first metric; 0: never");
  table.add("--disp-freq,--log-interval", o.display_every, "PERIOD",
            "between training entries in metrics.jsonl and TensorBoard, each with a progress line in the log");
  table.add("--disp-seconds", o.display_seconds, "SECONDS",
            "progress lines also come by time: after the first update, then at intervals that grow to this; "
            "0: none");
  table.add("--save-freq,--save-interval-updates", o.save_every, "PERIOD", "between checkpoints");
  table.add("--valid-freq,--validate-interval-updates", o.validate_every, "PERIOD", "between validations");
  table.add("--valid-metrics", o.valid_metrics, "NAME...",
            choices.valid_metrics + "; the first decides best and early stopping");
  table.offer(split_list({choices.valid_metrics}));
}

void add_run_rows(OptionTable& table, TrainOptions& o) {
  table.group("Run");
  table.add("--model,-m,--save-dir", o.model, "DIRECTORY", "the run directory; training resumes what it holds");
  table.add_flag("--auto-resume,!--no-auto-resume", o.auto_resume,
                 "continue the run that the directory holds, or begin one; without, it must hold none");
  table.of_this_call();
  table.add_flag("--overwrite", o.overwrite, "start anew where the directory holds a run");
  table.of_this_call();
  table.add("--keep-last,--keep-interval-updates", o.keep_last, "CHECKPOINTS", "kept beside the best one; 0: all");
  table.add("--keep-every,--keep-interval-updates-pattern", o.keep_every, "UPDATES",
            "checkpoints of a multiple of so many updates are kept for ever; 0: none");
  table.add_flag("--save-in-background,!--no-save-in-background", o.save_in_background,
                 "write checkpoints from a copy while training goes on");
  table.add("--max-skipped", o.most_skipped, "UPDATES",
            "in a row whose gradient is not finite are left out; one more ends the run and names the operation");
  table.group("What a run that continues takes from its checkpoint");
  table.add_flag("--optimizer-reload,!--no-optimizer-reload,!--reset-optimizer", o.reload.optimizer,
                 "the optimizer's moments; without, they and their bias correction begin anew, the schedule goes on");
  table.of_this_call();
  table.add_flag("--restore-corpus,!--no-restore-corpus,!--reset-dataloader", o.reload.position,
                 "the position in the data; without, the first epoch begins anew");
  table.of_this_call();
  table.add_flag("--restore-best,!--no-restore-best,!--reset-meters", o.reload.best,
                 "the best value of each metric, and the validations since");
  table.of_this_call();
}

// Not written to run/train.toml: they belong to no run.
void add_replay_rows(OptionTable& table, TrainOptions& o) {
  table.group("Replay");
  table.add_custom("--replay", 1, 1, "CHECKPOINT",
                   "instead of training, make the updates after this checkpoint once more, write nothing, and name the "
                   "first operation whose numbers are not finite (gyre inspect anomaly)",
                   [&o](const Values& values) { o.replay = values.back(); });
  table.add_custom("--replay-updates", 1, 1, "UPDATES", "so many at most",
                   [&o](const Values& values) { o.replay_updates = parsed<uint64_t>(values.back()); });
}

void add_parallel_rows(OptionTable& table, TrainOptions& o) {
  table.group("Device and ranks");
  table.add("--device", o.device, "DEVICE",
            "cpu; cuda: each rank takes the GPU of its own number among the ranks of its machine; cuda:N");
  table.offer({"cpu", "cuda"});
  table.add_choice("--precision", o.precision, precision_names(),
                   "of activations and products; weights, statistics, losses and the optimizer stay fp32; auto: bf16 "
                   "where the device has it");
  table.add("--cpu-threads,--threads", o.threads, "THREADS",
            "of a rank; 0: the cores of the machine shared by its ranks");
  table.add("--bucket-mb,--bucket-cap-mb", o.bucket_mb, "MB",
            "gradient sent in one message while backward goes on, at most");
  table.add_choice("--gradient-dtype", o.gradient_dtype, {"fp32", "bf16"},
                   "of gradients on their way between ranks; they are added in fp32");
  table.add("--zero", o.zero, "STAGE",
            "1: each rank keeps the optimizer's state of its share of the weights only (ZeRO stage 1); 0: all of it");
  table.add("--hang-timeout", o.hang_timeout, "SECONDS",
            "in which all ranks must come to what they do together, else the job ends and names those that have not; "
            "ten times as long for validation and checkpoints; 0: for ever");
  table.add_flag("--quiet", o.quiet, "warnings and errors only on the terminal");
}

}  // namespace

void add_train_options(OptionTable& table, TrainOptions& options, const TaskChoices& choices) {
  add_data_rows(table, options);
  add_batch_rows(table, options, choices);
  add_optimizer_rows(table, options);
  add_schedule_rows(table, options, choices);
  add_stop_rows(table, options, choices);
  add_run_rows(table, options);
  add_parallel_rows(table, options);
  add_replay_rows(table, options);
  table.required("model");
  table.common(split_list(
      {"config,task,preset,architecture,dim-emb,enc-depth,dec-depth,layers,position,attention,transformer-dropout",
       "train-sets,valid-sets,vocab,documents,max-length,labels,text-column,label-column,pretrained-model",
       "mini-batch-words,mini-batch,learn-rate,lr-schedule,lr-warmup,after,early-stopping,disp-freq,save-freq",
       "valid-freq,valid-metrics,overwrite,device,precision,cpu-threads,seed"}));
}

void record_train_options(const OptionTable& table, TrainOptions& options) {
  options.resolved_toml = table.toml();
  options.notes = foreign_notes(table);
  if (table.went_on()) options.notes.push_back("options: those of " + (options.model / "train.toml").string());
}

void reject_idle_train_options(const OptionTable& table, const TrainOptions& options) {
  const bool validates = options.has_validation_data();
  const bool has_end = options.optimizer.schedule == "linear" || options.optimizer.warmup_percent > 0;
  table.reject_idle("total-updates", has_end, "--lr-schedule is not linear");
  const bool warms_up = options.optimizer.warmup > 0 || options.optimizer.warmup_percent > 0;
  table.reject_idle("lr-warmup-start-rate", warms_up, "--lr-warmup is 0");
  for (const char* name : {"valid-freq", "valid-metrics", "early-stopping"})
    table.reject_idle(name, validates, "there is nothing to validate on");
}

}  // namespace gyre
