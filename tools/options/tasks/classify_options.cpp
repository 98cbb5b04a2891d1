#include "tools/options/tasks/classify_options.h"

#include "gyre/data/text/text_tasks.h"
#include "tools/options/tasks/fine_tuning_options.h"
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
  table.add_options(args.train, valid_metrics(args.kind));
  set_common_training_rows(table);
}

void check_classify_options(const OptionTable& table, ClassifyArgs& args) {
  ClassifyOptions& o = args.train;
  args.columns.apply(o.format);
  if (args.kind != TextTaskKind::regress && o.format.classes.empty())
    throw UsageError("--labels is missing: expected the class names, or a --preset that defines them");
  check_fine_tuning_options(table, o);
}

}  // namespace gyre
