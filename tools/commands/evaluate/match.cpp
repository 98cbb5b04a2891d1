// gyre evaluate match: computes the accuracy of a trained text matcher on triplets, and its predictions.
#include <memory>
#include <nlohmann/json.hpp>

#include "gyre/core/io/json.h"
#include "gyre/data/text/labeled_text.h"
#include "gyre/train/tasks/matching/match_task.h"
#include "tools/command_line/messages.h"
#include "tools/commands/evaluate/classifier_evaluation.h"
#include "tools/print_summary.h"
#include "tools/program.h"

namespace gyre {

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
  const TripletText text(args.input, parse_on_bad_line(args.on_bad_line));
  const LabeledIds pairs(text, *trained.vocabulary, max_length);
  print_message(concat(text.describe(), "; ", pairs.truncated(), " of ", pairs.size(), " pairs truncated to ",
                       max_length, " tokens"));
  const Predictions predictions = args.predictions(*trained.model, pairs);
  Json result{{"triplets", text.triplets().size()}};
  for (const std::string& metric : {std::string("accuracy"), task.objective.loss})
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
