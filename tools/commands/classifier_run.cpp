#include "tools/commands/classifier_run.h"

#include <algorithm>
#include <limits>

#include "gyre/core/option_checks.h"
#include "gyre/data/text/text_tasks.h"
#include "gyre/models/hugging_face/config.h"
#include "gyre/train/tasks/classification/classify_options.h"
#include "tools/options/model_choice.h"

namespace gyre {

void ClassifierRun::add_length_row(OptionTable& table, const std::string& item) {
  table.add("--max-length", max_length, "TOKENS",
            concat("maximum tokens per ", item, "; longer ", item, "s are truncated; 0: as in training"));
}

void ClassifierRun::add_execution_rows(OptionTable& table, const std::string& items) {
  table.group("Execution");
  table.add("--mini-batch,--batch-size", mini_batch, "SENTENCES", items + " per batch");
  device.add_row(table);
  precision.add_row(table);
  threads.add_row(table);
}

TrainedModel<SequenceClassifier> ClassifierRun::load() const {
  expect_between<uint64_t>(1, std::numeric_limits<int32_t>::max(), "--mini-batch", mini_batch);
  expect_at_least(0, "--max-length", max_length);
  threads.use();
  const Device chosen = device.kernels().device();
  print_model_choice(model, checkpoint);
  return load_trained_model<SequenceClassifier>(model, checkpoint, {}, chosen);
}

int ClassifierRun::length(const SequenceClassifier& classifier, int trained) const {
  const int64_t longest = classifier.longest();
  expect(max_length <= longest, "--max-length", concat("at most ", longest, ", the number of positions of the model"),
         max_length);
  return int(std::min<int64_t>(max_length > 0 ? max_length : trained, longest));
}

Predictions ClassifierRun::predictions(const SequenceClassifier& classifier, const LabeledIds& items) const {
  Kernels& kernels = device.kernels();
  SelfCommunicator self;
  return predict(classifier, items, mini_batch, precision.on(kernels), kernels, self);
}

namespace {

TrainedTask known_task(const Path& model, const std::string& preset, const ClassifierConfig& config) {
  if (!preset.empty()) {
    const TextTask& task = text_task(preset);
    return {.format = task.format, .metrics = task.metrics};
  }
  const Path run = find_run(model);
  if (std::filesystem::exists(task_path(run))) return read_task(run);
  return imported_task(config.is_regression() ? std::vector<std::string>() : default_class_names(config.classes));
}

}  // namespace

bool has_imported_task(const Path& model, const std::string& preset) {
  const Path run = find_run(model);
  return preset.empty() && (!std::filesystem::exists(task_path(run)) || read_task(run).is_imported);
}

TrainedTask classification_task(const Path& model, const std::string& preset, const ClassifierConfig& config,
                                const std::vector<std::string>& labels) {
  TrainedTask task = known_task(model, preset, config);
  check_labels(labels);
  if (!labels.empty()) {
    expect(labels.size() == size_t(config.is_regression() ? 0 : config.classes), "--labels",
           concat("the names of the ", config.classes, " classes of the model"), joined(labels));
    task.format.classes = labels;
  }
  if (task.max_length == 0) task.max_length = ClassifyOptions().data.max_length;
  const size_t outputs = std::max<size_t>(task.format.classes.size(), 1);  // 1: regression
  require(outputs == size_t(config.classes), "[task] ", model.string(), ": expected labels for the ", config.classes,
          " outputs of the model, got ", outputs);
  return task;
}

void ClassifierEvaluation::add_input_rows(OptionTable& table, const std::string& input_help) {
  add_model_rows(table, model, checkpoint);
  table.add("--input,-i", input, "FILE", input_help);
  table.required("input");
}

void ClassifierEvaluation::add_reading_rows(OptionTable& table, const std::string& item, const std::string& lines) {
  add_length_row(table, item);
  table.add_enum("--on-bad-line", on_bad_line,
                 concat("handling of bad ", lines, "; default: skip for an empty text, else error"));
}

}  // namespace gyre
