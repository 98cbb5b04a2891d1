#include "tools/options/tasks/classify_options.h"

#include "gyre/data/text/text_tasks.h"
#include "tools/options/tokenizer_rows.h"
#include "tools/options/train_options.h"

namespace gyre {

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

std::vector<std::string> valid_metrics(TextTaskKind kind) {
  if (kind == TextTaskKind::regress) return {"spearman", "pearson", "mean-squared-error"};
  return {"accuracy", "f1", "macro-f1", "matthews", "cross-entropy"};
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

void add_data_rows(OptionTable& table, ClassifyOptions& o) {
  table.group("Data");
  table.add("--train-sets,-t", o.data.train_sets, "FILE", "training data: tab-separated rows, without quoting");
  table.add("--valid-sets", o.data.valid_sets, "FILE", "validation data, in the same form");
  table.add("--max-length", o.data.max_length, "TOKENS",
            "maximum tokens per row, [CLS] and [SEP] included; longer rows are truncated, the longer text first");
  table.required("train-sets");
}

void add_start_rows(OptionTable& table, ClassifyOptions& o) {
  table.group("Initialization");
  table.add("--pretrained-model", o.pretrained_model, "DIRECTORY",
            "pretrained encoder (architecture, vocabulary, weights): a run of gyre train mlm or a Hugging Face model");
  table.add_flag("--from-scratch", o.from_scratch,
                 "take only the architecture and vocabulary of --pretrained-model; the weights are random");
  table.add("--vocab,--vocabs,-v", o.data.vocabulary, "FILE",
            "vocabulary from gyre vocab, if there is no --pretrained-model");
  add_tokenizer_rows(table, o.tokenizer);
  table.add_choice("--head", o.head, {"auto", "bert", "roformer"},
                   "classification head on the first token, BERT's or RoFormer's; auto: RoFormer's if the position "
                   "encoding is rope");
  table.add("--classifier-dropout", o.classifier_dropout, "RATE", "dropout rate in the classification head");
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
  add_data_rows(table, args.train);
  add_start_rows(table, args.train);
  add_train_options(
      table, args.train,
      {.batch_units = {"sentences", "total"},
       .batch_unit_help = "unit of --mini-batch-words: sentences (rows) or tokens",
       .valid_metrics = valid_metrics(args.kind),
       .learning_rate_help = concat("peak learning rate; the default is ", ClassifyOptions::kFineTuningRate,
                                    " for a pretrained model and ", ClassifyOptions::kFromScratchRate,
                                    " for random weights (no --pretrained-model, or --from-scratch)")});
  table.add("--valid-mini-batch,--batch-size-valid", args.train.validation.mini_batch, "SENTENCES",
            "rows per validation batch");
}

void check_classify_options(const OptionTable& table, ClassifyArgs& args) {
  ClassifyOptions& o = args.train;
  if (!table.given("learn-rate")) o.optimizer.schedule.learning_rate = o.default_learning_rate();
  args.columns.apply(o.format);
  if (args.kind != TextTaskKind::regress && o.format.classes.empty())
    throw UsageError("--labels is missing: expected the class names, or a --preset that defines them");
  reject_unused_train_options(table, o);
  for (const char* name : {"tokenizer", "dictionary"})
    table.reject_unused(name, o.pretrained_model.empty(), "--pretrained-model has its own vocabulary");
  table.reject_unused("valid-mini-batch", !o.data.valid_sets.empty(), "there is no validation data");
  for (const char* group : {"Model", "Attention", "Position encoding"}) {
    if (!o.pretrained_model.empty()) table.reject_group(group, "--pretrained-model defines the encoder");
  }
}

}  // namespace gyre
