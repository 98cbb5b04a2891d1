// gyre predict: writes the labels that a trained classifier gives to lines of text, or the numbers of a regression.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>

#include "gyre/core/io/output_target.h"
#include "gyre/core/option_checks.h"
#include "gyre/train/tasks/matching/match_task.h"
#include "tools/commands/evaluate/classifier_evaluation.h"
#include "tools/decoding_run.h"
#include "tools/lines.h"
#include "tools/options/model_choice.h"
#include "tools/program.h"

namespace gyre {

namespace {

constexpr size_t kWindowBatches = 16;  // read ahead and sorted by length

struct PredictArgs : ClassifierEvaluation {
  Path output;
  std::string preset;
  int labels = 1;
  bool json = false;
};

struct PredictedTask {
  bool is_pair = false;
  std::vector<std::string> classes;  // none: the model predicts a number
  int max_length = 0;
};

PredictedTask task_of(const PredictArgs& args, const ClassifierConfig& config) {
  PredictedTask predicted;
  if (args.preset.empty() && is_match_task(find_run(args.model))) {
    predicted = {true, {}, read_match_task(find_run(args.model)).max_length};
  } else {
    const TrainedTask task = classification_task(args.model, args.preset);
    require_outputs(args.model, config, task);
    predicted = {task.format.second_text.has_value(), task.format.classes, task.max_length};
  }
  if (args.max_length > 0) predicted.max_length = args.max_length;
  return predicted;
}

std::vector<double> softmax(std::vector<double> logits) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (double& x : logits) sum += x = std::exp(x - largest);
  for (double& x : logits) x /= sum;
  return logits;
}

class Predictor {
 public:
  explicit Predictor(const PredictArgs& args)
      : args_(args),
        trained_(args.load()),
        task_(task_of(args, trained_.model->config())),
        input_(args.input),
        output_(args.output) {
    expect_between(1, std::max(1, int(task_.classes.size())), "--labels", args.labels);
  }

  void run() {
    const auto next = [&](std::string& line) { return input_.next(line); };
    const uint64_t count = for_each_window<std::string>(
        size_t(args_.mini_batch) * kWindowBatches, output_, next,
        [&](const std::vector<std::string>& lines, uint64_t first) { predict_lines(lines, first); });
    output_.commit();
    std::fprintf(stderr, "%s: %llu lines, %llu truncated to %d tokens\n", input_.name().c_str(),
                 static_cast<unsigned long long>(count), static_cast<unsigned long long>(truncated_), task_.max_length);
  }

 private:
  // Writes one result for each line; `first` is the number of lines before them. An empty line has an empty result.
  void predict_lines(const std::vector<std::string>& lines, uint64_t first) {
    std::vector<LabeledRow> rows;
    for (size_t i = 0; i < lines.size(); ++i)
      if (!lines[i].empty()) rows.push_back(row_of(lines[i], first + i + 1));
    const LabeledIds ids(rows, task_.is_pair, *trained_.vocabulary, task_.max_length);
    truncated_ += ids.truncated();
    const Predictions predictions = args_.predictions(*trained_.model, ids);
    auto outputs = predictions.outputs.begin();
    for (const std::string& line : lines) {
      if (line.empty()) {
        output_.write(args_.json ? "null" : "");
        continue;
      }
      output_.write(result({outputs, outputs + ptrdiff_t(predictions.columns)}));
      outputs += ptrdiff_t(predictions.columns);
    }
  }

  LabeledRow row_of(std::string_view line, uint64_t number) const {
    LabeledRow row;
    row.line = number;
    const auto tabs = std::count(line.begin(), line.end(), '\t');
    require(tabs == (task_.is_pair ? 1 : 0), input_.name(), ":", number, ": expected ",
            task_.is_pair ? "two texts separated by a tab" : "one text without tabs", ", got ", tabs + 1);
    const size_t end = std::min(line.find('\t'), line.size());
    row.text[0] = line.substr(0, end);
    if (task_.is_pair) row.text[1] = line.substr(end + 1);
    return row;
  }

  std::string result(const std::vector<double>& outputs) const {
    if (task_.classes.empty()) {
      const nlohmann::ordered_json number = outputs.front();
      return args_.json ? nlohmann::ordered_json{{"number", number}}.dump() : number.dump();
    }
    const std::vector<double> probabilities = softmax(outputs);
    std::vector<size_t> order(outputs.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return outputs[a] > outputs[b]; });
    return args_.json ? json_of(probabilities, order.front()) : text_of(probabilities, order);
  }

  std::string json_of(const std::vector<double>& probabilities, size_t best) const {
    nlohmann::ordered_json all;
    for (size_t i = 0; i < probabilities.size(); ++i) all[task_.classes[i]] = probabilities[i];
    return nlohmann::ordered_json{{"label", task_.classes[best]}, {"probabilities", all}}.dump();
  }

  std::string text_of(const std::vector<double>& probabilities, const std::vector<size_t>& order) const {
    std::string text;
    for (int i = 0; i < args_.labels; ++i) {
      char probability[32];
      std::snprintf(probability, sizeof probability, "\t%.6f", probabilities[order[size_t(i)]]);
      text += (i > 0 ? "\t" : "") + task_.classes[order[size_t(i)]] + probability;
    }
    return text;
  }

  const PredictArgs& args_;
  TrainedModel<SequenceClassifier> trained_;
  PredictedTask task_;
  InputLines input_;
  OutputLines output_;
  uint64_t truncated_ = 0;
};

int run(const PredictArgs& args) {
  require_no_input(args.output, {args.input});
  Predictor(args).run();
  return 0;
}

}  // namespace

void add_predict_command(Program& program) {
  auto args = std::make_shared<PredictArgs>();
  OptionTable& table = program.command("predict", "labels and probabilities of texts, with a trained classifier",
                                       [args] { return run(*args); });
  add_model_rows(table, args->model, args->checkpoint);
  table.add("--input,-i", args->input, "FILE",
            "one text per line, or two separated by a tab if the model takes pairs; default: standard input");
  table.add("--output,-o", args->output, "FILE",
            "label and probability of each line, separated by a tab; of a regression or text matcher its number; "
            "default: standard output");
  table.add("--preset", args->preset, "NAME", "GLUE task (glue-sst2) to use instead of the trained task");
  table.add("--labels,-n", args->labels, "LABELS", "labels per line, the most probable first");
  table.add_flag("--json", args->json, "write a JSON object per line, with the probabilities of all labels");
  table.add("--max-length", args->max_length, "TOKENS",
            "maximum tokens per line; longer texts are truncated; 0: as in training");
  args->add_execution_rows(table, "lines");
}

}  // namespace gyre
