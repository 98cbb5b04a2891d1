#include "tools/classify_options.h"

#include "data/text_tasks.h"
#include "tools/train_options.h"

namespace gyre {

namespace {

TextTaskKind kind_of(const TextTask& task) {
  if (task.is_regression()) return TextTaskKind::regress;
  return task.is_pair() ? TextTaskKind::pair : TextTaskKind::classify;
}

std::string preset_names(TextTaskKind kind) {
  std::string names;
  for (const TextTask& task : text_tasks())
    if (kind_of(task) == kind) names += (names.empty() ? "" : ", ") + task.name;
  return names;
}

void choose_preset(ClassifyCall& call, const std::string& name) {
  const TextTask& task = text_task(name);
  if (kind_of(task) != call.kind) {
    throw UsageError("expected one of ", preset_names(call.kind), ", got ", name, ", which is for gyre train ",
                     enum_name(kind_of(task)));
  }
  call.preset = name;
  call.train.format = task.format;
  call.train.valid_metrics = task.metrics;
}

void add_task_rows(OptionTable& table, ClassifyCall& call) {
  ClassifyOptions& o = call.train;
  table.group("Task");
  table.add_custom(
      "--preset", 1, 1, "NAME", "columns, labels and metrics that the other options change: " + preset_names(call.kind),
      [&call](const std::vector<std::string>& values) { choose_preset(call, values.back()); },
      [&call] { return call.preset.empty() ? "" : toml_value(call.preset); });
  table.offer(split_list({preset_names(call.kind)}));
  table.applies_first();
  call.columns.add_rows(table, call.kind != TextTaskKind::classify);
  if (call.kind != TextTaskKind::regress)
    table.add("--labels", o.format.classes, "LABEL...", "the classes as the files have them, in the model's order");
}

void add_data_rows(OptionTable& table, ClassifyOptions& o) {
  table.group("Data");
  table.add("--train-sets,-t", o.train_sets, "FILE", "training data: tab-separated rows, without quoting");
  table.add("--valid-sets", o.valid_sets, "FILE", "validation data, likewise");
  table.add("--max-length", o.max_length, "TOKENS",
            "longer rows are cut, the longer text first; [CLS] and [SEP] count");
  table.required("train-sets");
}

void add_start_rows(OptionTable& table, ClassifyOptions& o) {
  table.group("Start");
  table.add(
      "--pretrained-model", o.pretrained_model, "DIRECTORY",
      "architecture, vocabulary and weights of the encoder: a run of gyre train mlm, or a model of Hugging Face's");
  table.add_flag("--from-scratch", o.from_scratch, "of --pretrained-model only architecture and vocabulary");
  table.add("--vocab,--vocabs,-v", o.vocabulary, "FILE", "without --pretrained-model: the vocabulary, from gyre vocab");
  table.add_choice("--head", o.head, {"auto", "bert", "roformer"},
                   "on the first token: BERT's or RoFormer's; auto: RoFormer's where the position encoding is rope");
  table.add("--classifier-dropout", o.classifier_dropout, "RATE", "in the head");
}

}  // namespace

ClassifyCall::ClassifyCall(TextTaskKind kind) : kind(kind) {
  train.format.label = Column{"", -1};
  if (kind == TextTaskKind::pair) train.format.second_text = Column{"", 1};
  if (kind == TextTaskKind::regress) {
    train.valid_metrics = {"spearman", "pearson"};
  } else {
    train.valid_metrics = {"accuracy"};
  }
}

void add_classify_options(OptionTable& table, ClassifyCall& call) {
  add_task_rows(table, call);
  add_data_rows(table, call.train);
  add_start_rows(table, call.train);
  add_train_options(
      table, call.train,
      {.batch_units = {"sentences", "total"},
       .batch_unit_help = "what --mini-batch-words counts: sentences (rows), or tokens",
       .valid_metrics = call.kind == TextTaskKind::regress ? "spearman, pearson, mean-squared-error"
                                                           : "accuracy, f1, macro-f1, matthews, cross-entropy",
       .learning_rate_help = concat("peak learning rate; the default is ", ClassifyOptions::kFineTuningRate,
                                    " for a pretrained model and ", ClassifyOptions::kFromScratchRate,
                                    " for random weights (no --pretrained-model, or --from-scratch)")});
  table.add("--valid-mini-batch,--batch-size-valid", call.train.valid_mini_batch, "SENTENCES",
            "rows in validation, at a time");
}

void check_classify_options(const OptionTable& table, ClassifyCall& call) {
  ClassifyOptions& o = call.train;
  if (!table.given("learn-rate")) o.optimizer.learning_rate = o.default_learning_rate();
  call.columns.apply(o.format);
  if (call.kind != TextTaskKind::regress && o.format.classes.empty())
    throw UsageError("--labels is missing: the classes, or a --preset that has them");
  reject_idle_train_options(table, o);
  table.reject_idle("valid-mini-batch", !o.valid_sets.empty(), "there is nothing to validate on");
  for (const char* group : {"Model", "Attention", "Position encoding"}) {
    if (!o.pretrained_model.empty()) table.reject_group(group, "the encoder is that of --pretrained-model");
  }
}

}  // namespace gyre
