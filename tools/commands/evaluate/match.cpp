// gyre evaluate match: computes the accuracy of a trained text matcher on triplets, and its predictions.
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "gyre/core/option_checks.h"
#include "gyre/data/text/triplet_text.h"
#include "gyre/models/sequence_classifier.h"
#include "gyre/train/pretrained/trained_model.h"
#include "gyre/train/tasks/matching/match_task.h"
#include "tools/options/cpu_threads.h"
#include "tools/options/device_choice.h"
#include "tools/options/model_choice.h"
#include "tools/options/precision_choice.h"
#include "tools/print_summary.h"
#include "tools/program.h"

namespace gyre {

namespace {

struct EvaluateMatchArgs {
  Path model, input;
  std::string checkpoint, on_bad_line = "default";
  PrecisionChoice precision;
  int max_length = 0;
  uint64_t mini_batch = 16;
  DeviceChoice device;
  CpuThreads threads;
  bool json = false;
};

// One object for each triplet: {"line": 3, "B": 1.25, "C": -0.5, "nearer": "B"}. B and C have the model's numbers for
// the pairs of A with these texts. `nearer` is null if they are equal or NaN.
nlohmann::ordered_json predictions_json(const TripletText& text, const Predictions& predictions) {
  auto list = nlohmann::ordered_json::array();
  for (size_t i = 0; i < text.triplets().size(); ++i) {
    const Triplet& triplet = text.triplets()[i];
    const double b = predictions.outputs[2 * i + size_t(triplet.c_is_nearer)];
    const double c = predictions.outputs[2 * i + size_t(!triplet.c_is_nearer)];
    nlohmann::ordered_json nearer;
    if (b > c) nearer = "B";
    if (c > b) nearer = "C";
    list.push_back({{"line", triplet.line}, {"B", b}, {"C", c}, {"nearer", nearer}});
  }
  return list;
}

int evaluate(const EvaluateMatchArgs& args) {
  expect_at_least(1, "--mini-batch", args.mini_batch);
  args.threads.use();
  Kernels& kernels = args.device.kernels();
  print_model_choice(args.model, args.checkpoint);
  MatchTask task = read_match_task(find_run(args.model));
  if (args.max_length > 0) task.max_length = args.max_length;
  const auto trained = load_trained_model<SequenceClassifier>(args.model, args.checkpoint, {}, kernels.device());
  const TripletText text(args.input, parse_on_bad_line(args.on_bad_line));
  const LabeledIds pairs(text, *trained.vocabulary, task.max_length);
  std::fprintf(stderr, "%s; %llu of %zu pairs truncated to %d tokens\n", text.describe().c_str(),
               static_cast<unsigned long long>(pairs.truncated()), pairs.size(), task.max_length);
  SelfCommunicator self;
  const Predictions predictions =
      predict(*trained.model, pairs, args.mini_batch, args.precision.on(kernels), kernels, self);
  nlohmann::ordered_json result{{"triplets", text.triplets().size()}};
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
  add_model_rows(table, args->model, args->checkpoint);
  table.add("--input,-i", args->input, "FILE", "triplets, in the form of the training data");
  for (const char* name : {"model", "input"}) table.required(name);
  table.add("--max-length", args->max_length, "TOKENS",
            "maximum tokens per pair; longer pairs are truncated; 0: as in training");
  table.add_choice("--on-bad-line", args->on_bad_line, {"default", "error", "skip"},
                   "handling of bad lines; default: skip for an empty text, else error");
  table.add_flag("--json", args->json, "print one JSON object, with the predictions");
  table.group("Execution");
  table.add("--mini-batch,--batch-size", args->mini_batch, "SENTENCES", "pairs per batch");
  args->device.add_row(table);
  args->precision.add_row(table);
  args->threads.add_row(table);
}

}  // namespace gyre
