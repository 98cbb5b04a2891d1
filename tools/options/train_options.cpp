#include "tools/options/train_options.h"

#include <charconv>
#include <cstdint>
#include <filesystem>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "gyre/data/text/text_tasks.h"
#include "gyre/train/checkpoint/run_directory.h"
#include "gyre/train/optim/optimizer_options.h"
#include "gyre/train/pretrained/trained_model.h"
#include "gyre/train/tasks/initial_weights.h"
#include "tools/command_line/config_file.h"
#include "tools/command_line/option_table.h"
#include "tools/options/model_options.h"

namespace gyre {
namespace {

// Lets the row --pretrained-model set `config`, like a preset: other options override its values. If the model does not
// exist anymore, a run that continues has a configuration of its own. Options: has pretrained_model.
template <class Options, class Config>
void take_pretrained_config(OptionTable& table, const Options& options, Config& config) {
  table.when_set("pretrained-model", [&table, &options, &config] {
    const Path &model = options.pretrained_model, run = table.given_run();
    if (std::filesystem::exists(model)) {
      config = read_config<Config>(find_run(model));
    } else if (!run.empty() && std::filesystem::exists(config_path(run))) {
      config = read_config<Config>(run);
    }
  });
}

// The rows that --help of gyre train shows.
void set_common_training_rows(OptionTable& table) {
  table.set_common(split_list(
      {"config,task,preset,architecture,dim-emb,enc-depth,dec-depth,layers,position,attention,transformer-dropout",
       "train-sets,valid-sets,vocab,documents,max-length,labels,text-column,label-column,pretrained-model",
       "mini-batch-words,mini-batch,learn-rate,lr-schedule,lr-warmup,after,patience,disp-freq,save-freq",
       "valid-freq,valid-metrics,overwrite,device,precision,cpu-threads,seed"}));
}

// Unless --lr-warmup is given, sets the default warm-up of a run that starts from a pretrained model: kFineTuningWarmup
// percent of its updates, if their number is known. A run that continues keeps the warm-up with which it began, which
// may have been before its number of updates was known.
void set_fine_tuning_warmup(const OptionTable& table, TrainOptions& options, bool has_total_updates) {
  if (table.given("lr-warmup")) return;
  const Path file = options.start.directory / "train.toml";
  if (continues(options.start) && std::filesystem::exists(file)) {
    for (const ConfigEntry& entry : read_config_file(file).entries)
      if (entry.name == "lr-warmup" && entry.values.size() == 1) {
        ScheduleOptions& schedule = options.optimizer.schedule;
        std::tie(schedule.warmup, schedule.warmup_percent) = parse_updates_or_share(entry.values.back());
        return;
      }
  }
  options.optimizer.schedule.warmup_percent = has_total_updates ? kFineTuningWarmup : 0;
}

// Sets the defaults that depend on other options, and throws UsageError for options that were given but would have no
// effect in this run.
void check_train_options(const OptionTable& table, TrainOptions& options) {
  set_optimizer_defaults(table, options.optimizer);
  table.reject_unused();
}

}  // namespace

void record_train_options(const OptionTable& table, TrainOptions& options) {
  options.record.toml = table.toml();
  options.record.notes = table.notes();
  if (table.resumes_run())
    options.record.notes.push_back("options: read from " + (options.start.directory / "train.toml").string());
}

void set_optimizer_defaults(const OptionTable& table, OptimizerOptions& optimizer) {
  if (optimizer.kind == "lion" && !table.given("optimizer-params") && !table.given("adam-betas"))
    optimizer.beta1 = 0.9, optimizer.beta2 = 0.99;
  if (optimizer.kind == "adam" && !table.given("weight-decay")) optimizer.weight_decay = 0;
}

void use_pretrained_vocabulary(const Path& model, TrainOptions& options) {
  if (model.empty()) return;
  const Path run = starts_from(model, options.start) ? find_run(find_model_file(model)) : options.start.directory;
  if (options.data.vocabulary.empty()) options.data.vocabulary = find_vocabulary(run);
}

void add_nmt_options(OptionTable& table, NmtOptions& options, EncoderDecoderConfig& config) {
  table.add_options(options);
  set_common_training_rows(table);
  take_pretrained_config(table, options, config);
}

void check_nmt_training(const OptionTable& table, NmtOptions& options) {
  if (!options.pretrained_model.empty()) set_fine_tuning_warmup(table, options, options.has_total_updates());
  check_train_options(table, options);
}

void check_nmt_options(const OptionTable& table, NmtOptions& options, const EncoderDecoderConfig& config) {
  check_nmt_training(table, options);
  check_model_options(table, config);
  const bool has_dropout = config.dropout > 0 || config.attention_dropout > 0 || config.activation_dropout > 0;
  table.reject_unused("r-drop", has_dropout, "without dropout both passes are the same");
}

namespace {

std::string toml_of(LanguageStage stage) {
  OptionTable table;
  table.add_options(stage);
  return "\n[[stage]]\n" + table.toml();
}

// Adds the tables [[stage]] of configuration files.
void add_stage_tables(OptionTable& table, LanguageOptions& options) {
  const auto read = [&table, &options](const std::vector<ConfigTable>& tables) {
    std::vector<LanguageStage> stages;
    for (const ConfigTable& given : tables) {
      OptionTable rows;
      LanguageStage stage;
      rows.add_options(stage);
      rows.resolve(given);
      stages.push_back(std::move(stage));
    }
    if (!options.pretrained_model.empty()) set_fine_tuning_warmup(table, options, /*has_total_updates=*/true);
    options.set_stages(std::move(stages));
  };
  const auto write = [&options] {
    std::string text;
    for (const LanguageStage& stage : options.stages) text += toml_of(stage);
    return text;
  };
  table.add_tables("stage", read, write);
  table.not_saved_if("after", [&options] { return !options.stages.empty(); });  // the stages end the run
}

}  // namespace

void add_language_options(OptionTable& table, LanguageOptions& options, EncoderOnlyConfig& config) {
  table.add_options(options);
  set_common_training_rows(table);
  take_pretrained_config(table, options, config);
  add_stage_tables(table, options);
}

void check_language_options(const OptionTable& table, LanguageOptions& options) {
  // The stages of a run have resolved its schedule already.
  if (!options.pretrained_model.empty() && options.stages.empty())
    set_fine_tuning_warmup(table, options, options.has_total_updates());
  check_train_options(table, options);
}

void check_fine_tuning_options(const OptionTable& table, FineTuningOptions& options) {
  if (!table.given("learn-rate")) options.optimizer.schedule.learning_rate = options.default_learning_rate();
  if (options.optimizer.schedule.warmup_percent > 0)
    set_fine_tuning_warmup(table, options, options.has_total_updates());
  reject_pretrained_options(table, options);
  check_train_options(table, options);
}

void reject_pretrained_options(const OptionTable& table, const FineTuningOptions& options) {
  if (options.pretrained_model.empty()) return;
  for (const char* name : {"tokenizer", "dictionary"})
    table.reject_unused(
        name, false,
        "--pretrained-model has its own vocabulary; gyre import takes this option for a model of Hugging Face");
  for (const char* group : {"Model", "Attention", "Position encoding"})
    table.reject_group(group, "--pretrained-model defines the encoder");
}

namespace {

Column column_of(const std::string& text, const char* flag, bool has_header) {
  Column column;
  const char* end = text.data() + text.size();
  const auto number = std::from_chars(text.data(), end, column.number);
  if (number.ec == std::errc() && number.ptr == end) return column;
  if (!has_header) throw UsageError(flag, ": expected a number because there is no header line, got '", text, "'");
  return {text, 0};
}

}  // namespace

void ColumnOptions::add_rows(OptionTable& table, bool takes_pairs) {
  table.add("--text-column", text, "COLUMN",
            "column of the text: a name from the header line, or a number from 0; -1: the last");
  if (takes_pairs)
    table.add("--second-text-column", second_text, "COLUMN", "column of the second text, in the same form");
  table.add("--label-column", label, "COLUMN", "column of the label, in the same form");
  table.add("--header", header, "true|false", "whether the first line names the columns");
  table.set_completions({"true", "false"});
  table.add_switch("--no-header", "same as --header false", [this] { header = false; });
}

void ColumnOptions::apply(LabeledFormat& format) const {
  if (header) format.has_header = *header;
  if (text) format.text = column_of(*text, "--text-column", format.has_header);
  if (second_text) format.second_text = column_of(*second_text, "--second-text-column", format.has_header);
  if (label) format.label = column_of(*label, "--label-column", format.has_header);
}

namespace {

TextTaskKind kind_of(const TextTask& task) {
  if (task.is_regression()) return TextTaskKind::regress;
  return task.is_pair() ? TextTaskKind::pair : TextTaskKind::classify;
}

std::vector<std::string> preset_names(TextTaskKind kind) {
  std::vector<std::string> names;
  for (const TextTask& task : text_tasks())
    if (kind_of(task) == kind) names.push_back(task.name);
  return names;
}

void choose_preset(ClassifyArgs& args, const std::string& name) {
  const TextTask& task = text_task(name);
  if (kind_of(task) != args.kind) {
    throw UsageError("expected one of ", joined(preset_names(args.kind)), ", got ", name, ", which is for gyre train ",
                     enum_name(kind_of(task)));
  }
  args.preset = name;
  args.train.format = task.format;
  args.train.validation.metrics = task.metrics;
}

void add_task_rows(OptionTable& table, ClassifyArgs& args) {
  ClassifyOptions& o = args.train;
  table.group("Task");
  table.add_custom(
      "--preset", 1, 1, "NAME",
      "columns, labels and metrics of a known task, which other options override: " + joined(preset_names(args.kind)),
      [&args](const std::vector<std::string>& values) { choose_preset(args, values.back()); },
      [&args] { return args.preset.empty() ? "" : toml_value(args.preset); });
  table.set_completions(preset_names(args.kind));
  table.applies_first();
  args.columns.add_rows(table, args.kind != TextTaskKind::classify);
  if (args.kind != TextTaskKind::regress)
    table.add("--labels", o.format.classes, "LABEL...",
              "the class names as they appear in the files, in the order of the model's outputs");
}

}  // namespace

ClassifyArgs::ClassifyArgs(TextTaskKind kind) : kind(kind) {
  train.format.label = Column{"", -1};
  if (kind == TextTaskKind::pair) train.format.second_text = Column{"", 1};
  if (kind == TextTaskKind::regress) {
    train.validation.metrics = {"spearman", "pearson"};
  } else {
    train.validation.metrics = {"accuracy"};
  }
}

void add_classify_options(OptionTable& table, ClassifyArgs& args) {
  add_task_rows(table, args);
  table.add_options(args.train, ClassifyOptions::metrics(args.kind == TextTaskKind::regress));
  set_common_training_rows(table);
}

void check_classify_options(const OptionTable& table, ClassifyArgs& args) {
  ClassifyOptions& o = args.train;
  args.columns.apply(o.format);
  if (args.kind != TextTaskKind::regress && o.format.classes.empty())
    throw UsageError("--labels is missing: expected the class names, or a --preset that defines them");
  check_fine_tuning_options(table, o);
}

void add_match_options(OptionTable& table, MatchOptions& options) {
  table.add_options(options);
  set_common_training_rows(table);
}

}  // namespace gyre
