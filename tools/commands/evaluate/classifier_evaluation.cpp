#include "tools/commands/evaluate/classifier_evaluation.h"

#include <algorithm>

#include "gyre/core/option_checks.h"
#include "gyre/data/text/text_tasks.h"
#include "gyre/train/tasks/classification/classify_options.h"
#include "tools/options/model_choice.h"

namespace gyre {

void ClassifierEvaluation::add_input_rows(OptionTable& table, const std::string& input_help) {
  add_model_rows(table, model, checkpoint);
  table.add("--input,-i", input, "FILE", input_help);
  table.required("input");
}

void ClassifierEvaluation::add_reading_rows(OptionTable& table, const std::string& item, const std::string& lines) {
  table.add("--max-length", max_length, "TOKENS",
            concat("maximum tokens per ", item, "; longer ", item, "s are truncated; 0: as in training"));
  table.add_choice("--on-bad-line", on_bad_line, {"default", "error", "skip"},
                   concat("handling of bad ", lines, "; default: skip for an empty text, else error"));
}

void ClassifierEvaluation::add_execution_rows(OptionTable& table, const std::string& items) {
  table.group("Execution");
  table.add("--mini-batch,--batch-size", mini_batch, "SENTENCES", items + " per batch");
  device.add_row(table);
  precision.add_row(table);
  threads.add_row(table);
}

TrainedModel<SequenceClassifier> ClassifierEvaluation::load() const {
  expect_at_least(1, "--mini-batch", mini_batch);
  threads.use();
  const Device chosen = device.kernels().device();
  print_model_choice(model, checkpoint);
  return load_trained_model<SequenceClassifier>(model, checkpoint, {}, chosen);
}

Predictions ClassifierEvaluation::predictions(const SequenceClassifier& classifier, const LabeledIds& items) const {
  Kernels& kernels = device.kernels();
  SelfCommunicator self;
  return predict(classifier, items, mini_batch, precision.on(kernels), kernels, self);
}

TrainedTask classification_task(const Path& model, const std::string& preset) {
  if (preset.empty()) return read_task(find_run(model));
  const TextTask& task = text_task(preset);
  return {task.format, task.metrics, ClassifyOptions().data.max_length};
}

void require_outputs(const Path& model, const ClassifierConfig& config, const TrainedTask& task) {
  const size_t outputs = std::max<size_t>(task.format.classes.size(), 1);  // 1: regression
  require(outputs == size_t(config.classes), "[task] ", model.string(), ": expected labels for the ", config.classes,
          " outputs of the model, got ", outputs);
}

}  // namespace gyre
