// gyre evaluate classify and gyre evaluate match: metrics of a trained classifier, regression model or text matcher.
#include "gyre/train/tasks/classification/classify.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gyre/core/io/json.h"
#include "gyre/core/option_checks.h"
#include "gyre/data/text/labeled_text.h"
#include "gyre/train/tasks/matching/match_objective.h"
#include "tools/command_line/messages.h"
#include "tools/commands/classifier_run.h"
#include "tools/lines.h"
#include "tools/options/train_options.h"
#include "tools/program.h"
#include "tools/summary.h"

namespace gyre {

namespace {

struct EvaluateClassifyArgs : ClassifierEvaluation {
  Path output;
  std::string preset;
  ColumnOptions columns;
  std::vector<std::string> metrics, labels;
  bool json = false;
  const OptionTable* table = nullptr;
};

void write_predictions(const Path& file, const Predictions& predictions, const std::vector<std::string>& classes) {
  OutputLines lines(file);
  if (classes.empty()) {
    for (const double number : predictions.outputs) lines.write(json_text(number));
  } else {
    for (const int32_t label : predictions.classes()) lines.write(classes[size_t(label)]);
  }
  lines.commit();
}

// The task of the preset or of the run, with the options that were given.
TrainedTask task_of(const EvaluateClassifyArgs& args, const ClassifierConfig& config) {
  args.table->reject_unused("labels", has_imported_task(args.model, args.preset), "the task of the model defines it");
  TrainedTask task = classification_task(args.model, args.preset, config, args.labels);
  args.columns.apply(task.format);
  if (!args.metrics.empty()) task.metrics = args.metrics;
  for (const std::string& metric : args.metrics)
    expect(metric != "f1" || task.format.classes.size() <= 2, "--metrics", "macro-f1 with more than two classes",
           metric);
  task.metrics.push_back(loss_name(config));
  return task;
}

int evaluate(const EvaluateClassifyArgs& args) {
  const auto trained = args.load();
  const TrainedTask task = task_of(args, trained.model->config());
  const LabeledText text(args.input, task.format, args.on_bad_line);
  print_message(text.describe());
  const LabeledIds rows(text, *trained.vocabulary, args.length(*trained.model, task.max_length));
  const Predictions predictions = args.predictions(*trained.model, rows);
  Json result{{"rows", rows.size()}};
  for (const std::string& metric : task.metrics) result[metric] = score(metric, predictions, rows);
  if (!args.output.empty()) write_predictions(args.output, predictions, task.format.classes);
  print_summary(result, args.json);
  return 0;
}

}  // namespace

void add_evaluate_classify_command(Program& program) {
  auto args = std::make_shared<EvaluateClassifyArgs>();
  OptionTable& table = program.command("evaluate classify", "metrics of a trained classifier or regression model",
                                       [args] { return evaluate(*args); });
  args->table = &table;
  args->add_input_rows(table, "labeled rows, tab-separated, with the columns of the training data");
  table.add("--preset", args->preset, "NAME", "GLUE task (glue-sst2) to use instead of the trained task");
  args->columns.add_rows(table, true);
  table.add("--labels", args->labels, "LABEL...",
            "labels of the classes of an imported model in the rows; default: its own names of classes");
  args->add_reading_rows(table, "row", "rows");
  table.add("--metrics", args->metrics, "NAME...",
            "metrics to compute; default: the validation metrics of the run; the loss is always included");
  table.add("--output,-o", args->output, "FILE", "file for the predicted label of each row");
  table.add_flag("--json", args->json, "print one JSON object");
  args->add_execution_rows(table, "rows");
}

// ---- gyre evaluate match: computes the accuracy of a trained text matcher on triplets, and its predictions ---------

namespace {

struct EvaluateMatchArgs : ClassifierEvaluation {
  EvaluateMatchArgs() { mini_batch = 16; }
  bool json = false;
};

// One object for each triplet: {"line": 3, "B": 1.25, "C": -0.5, "nearer": "B"}. B and C have the model's scores of
// the pairs of A with these texts. `nearer` is null if they are equal or NaN.
Json predictions_json(const TripletText& text, const Predictions& predictions) {
  auto list = Json::array();
  for (size_t i = 0; i < text.triplets().size(); ++i) {
    const Triplet& triplet = text.triplets()[i];
    const double b = predictions.outputs[2 * i + size_t(triplet.c_is_nearer)];
    const double c = predictions.outputs[2 * i + size_t(!triplet.c_is_nearer)];
    Json nearer;
    if (b > c) nearer = "B";
    if (c > b) nearer = "C";
    list.push_back({{"line", triplet.line}, {"B", b}, {"C", c}, {"nearer", nearer}});
  }
  return list;
}

int evaluate(const EvaluateMatchArgs& args) {
  const MatchTask task = read_match_task(find_run(args.model));
  const auto trained = args.load();
  const int max_length = args.length(*trained.model, task.max_length);
  const TripletText text(args.input, args.on_bad_line);
  const LabeledIds pairs(text, *trained.vocabulary, max_length);
  print_message(concat(text.describe(), "; ", pairs.truncated(), " of ", pairs.size(), " pairs truncated to ",
                       max_length, " tokens"));
  const Predictions predictions = args.predictions(*trained.model, pairs);
  Json result{{"triplets", text.triplets().size()}};
  for (const std::string& metric : {std::string("accuracy"), std::string(enum_name(task.objective.loss))})
    result[metric] = match_score(metric, predictions, task.objective);
  if (args.json) result["predictions"] = predictions_json(text, predictions);
  print_summary(result, args.json);
  return 0;
}

}  // namespace

void add_evaluate_match_command(Program& program) {
  auto args = std::make_shared<EvaluateMatchArgs>();
  OptionTable& table = program.command("evaluate match", "accuracy and predictions of a trained text matcher",
                                       [args] { return evaluate(*args); });
  args->add_input_rows(table, "triplets, in the form of the training data");
  args->add_reading_rows(table, "pair", "lines");
  table.add_flag("--json", args->json, "print one JSON object, with the predictions");
  args->add_execution_rows(table, "pairs");
}

}  // namespace gyre
