// gyre evaluate classify: the metrics of a trained classifier, or regression, on labelled texts.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "data/text_tasks.h"
#include "models/sequence_classifier.h"
#include "tools/column_options.h"
#include "tools/cpu_threads.h"
#include "tools/device_choice.h"
#include "tools/facts.h"
#include "tools/lines.h"
#include "tools/model_choice.h"
#include "tools/program.h"
#include "train/classify_options.h"
#include "train/predictions.h"
#include "train/trained_model.h"
#include "train/trained_task.h"

namespace gyre {

namespace {

struct EvaluateClassify {
  Path model, input, output;
  std::string checkpoint, preset, on_bad_line = "default", precision = "fp32";
  ColumnOptions columns;
  int max_length = 0;
  std::vector<std::string> metrics;
  uint64_t mini_batch = 64;
  DeviceChoice device;
  CpuThreads threads;
  bool json = false;
};

void write_predictions(const Path& file, const Predictions& predictions, const std::vector<std::string>& classes) {
  OutputLines lines(file);
  if (classes.empty()) {
    for (const double number : predictions.outputs) lines.write(nlohmann::json(number).dump());
  } else {
    for (const int32_t label : predictions.classes()) lines.write(classes[size_t(label)]);
  }
  lines.commit();
}

// The preset's or the run's own, with what was given.
TrainedTask task_of(const EvaluateClassify& call, const ClassifierConfig& config) {
  TrainedTask task;
  if (call.preset.empty()) {
    task = read_task(find_run(call.model));
  } else {
    task = {text_task(call.preset).format, text_task(call.preset).metrics, ClassifyOptions().max_length};
  }
  call.columns.apply(task.format);
  if (call.max_length > 0) task.max_length = call.max_length;
  if (!call.metrics.empty()) task.metrics = call.metrics;
  task.metrics.push_back(loss_name(config));
  const size_t classes = std::max<size_t>(task.format.classes.size(), 1);  // 1: regression
  require(classes == size_t(config.classes), "[task] ", call.model.string(), ": expected labels for the ",
          config.classes, " outputs of the model, got ", classes);
  return task;
}

int evaluate(const EvaluateClassify& call) {
  if (call.mini_batch < 1) throw UsageError("--mini-batch: expected at least 1, got ", call.mini_batch);
  call.threads.use();
  Kernels& kernels = call.device.kernels();
  print_model_choice(call.model, call.checkpoint);
  const auto trained = load_trained_model<SequenceClassifier>(call.model, call.checkpoint, {}, kernels.device());
  const TrainedTask task = task_of(call, trained.model->config());
  const LabelledText text(call.input, task.format, parse_on_bad_line(call.on_bad_line));
  std::fprintf(stderr, "%s\n", text.describe().c_str());
  const LabelledIds rows(text, *trained.vocabulary, task.max_length);
  SelfCommunicator self;
  const Predictions predictions =
      predict(*trained.model, rows, call.mini_batch, parse_precision(call.precision, kernels), kernels, self);
  nlohmann::ordered_json result{{"rows", rows.size()}};
  for (const std::string& metric : task.metrics) result[metric] = score(metric, predictions, rows);
  if (!call.output.empty()) write_predictions(call.output, predictions, task.format.classes);
  print_facts(result, call.json);
  return 0;
}

}  // namespace

void add_evaluate_classify_command(Program& program) {
  auto call = std::make_shared<EvaluateClassify>();
  OptionTable& table =
      program.command("evaluate classify", "metrics of a model of gyre train classify, regress or pair",
                      [call] { return evaluate(*call); });
  table.add("--model,-m", call->model, "DIRECTORY", "a run directory, a checkpoint in it, or its model.safetensors");
  table.add("--checkpoint", call->checkpoint, "NAME",
            "of the run: best, last, a step-... directory or a path; absent: best where there is one, else last");
  table.add("--input,-i", call->input, "FILE", "labelled rows, tab-separated, in the columns of the training data");
  for (const char* name : {"model", "input"}) table.required(name);
  table.add("--preset", call->preset, "NAME", "a task of GLUE (glue-sst2) instead of the one that was trained");
  call->columns.add_rows(table, true);
  table.add("--max-length", call->max_length, "TOKENS", "longer rows are cut; 0: as in training");
  table.add_choice("--on-bad-line", call->on_bad_line, {"default", "error", "skip"},
                   "what a bad row does; default: error, but skip for an empty text");
  table.add("--metrics", call->metrics, "NAME...",
            "absent: those that the run was validated by; the loss always comes");
  table.add("--output,-o", call->output, "FILE", "the predicted label of each row");
  table.add_flag("--json", call->json, "print one JSON object");
  table.group("Work");
  table.add("--mini-batch,--batch-size", call->mini_batch, "SENTENCES", "rows at a time");
  call->device.add_row(table);
  table.add_choice("--precision", call->precision, precision_names(), "of activations and products");
  call->threads.add_row(table);
}

}  // namespace gyre
