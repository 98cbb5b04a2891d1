// gyre predict: writes the labels that a trained classifier gives to lines of text, or the scores of a regression.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gyre/core/io/file.h"
#include "gyre/core/io/json.h"
#include "gyre/core/option_checks.h"
#include "gyre/data/batch/labeled_batch.h"
#include "gyre/data/text/line_report.h"
#include "gyre/train/tasks/classification/classify_options.h"
#include "gyre/train/tasks/matching/match_objective.h"
#include "tools/command_line/messages.h"
#include "tools/commands/classifier_run.h"
#include "tools/lines.h"
#include "tools/options/model_choice.h"
#include "tools/program.h"

namespace gyre {

namespace {

struct PredictArgs : ClassifierRun {
  Path input, output;
  std::string preset;
  std::vector<std::string> labels;
  bool pairs = false;
  uint64_t maxi_batch = 16;
  int top_k = 1;
  BadLineChoice bad_lines;
  bool json = false;
  bool is_match = false;  // whether the model is a text matcher
  const OptionTable* table = nullptr;
};

struct PredictedTask {
  bool is_pair = false;
  std::vector<std::string> classes;  // none: the model predicts a score
  int max_length = 0;
};

PredictedTask task_of(const PredictArgs& args, const ClassifierConfig& config) {
  const bool is_match = args.preset.empty() && args.is_match;
  const bool is_imported = !is_match && has_imported_task(args.model, args.preset);
  for (const char* name : {"pairs", "labels"})
    args.table->reject_unused(name, is_imported, "the task of the model defines it");
  if (is_match) return {true, {}, read_match_task(find_run(args.model)).max_length};
  const TrainedTask task = classification_task(args.model, args.preset, config, args.labels);
  return {args.pairs || task.format.second_text.has_value(), task.format.classes, task.max_length};
}

// A text, or two texts separated by a tab.
LabeledRow row_of(std::string_view line) {
  LabeledRow row;
  row.text[0] = line.substr(0, line.find('\t'));
  if (row.text[0].size() < line.size()) row.text[1] = line.substr(row.text[0].size() + 1);
  return row;
}

// Rejects a line that is not blank and has not the texts that the model takes.
void check_texts(const std::string& line, bool is_pair, InputLines& input) {
  if (is_blank(line)) return;
  const auto texts = std::count(line.begin(), line.end(), '\t') + 1;
  if (texts != (is_pair ? 2 : 1)) {
    input.reject(
        BadLine::bad_columns,
        concat("expected ", is_pair ? "two texts separated by a tab" : "one text without tabs", ", got ", texts));
  } else if (const LabeledRow row = row_of(line); is_pair && (is_blank(row.text[0]) || is_blank(row.text[1]))) {
    input.reject(BadLine::empty, "expected two texts, got one");
  }
}

// Writes the result of a row of outputs: a logit for each class, or a score.
class ResultFormat {
 public:
  ResultFormat(std::vector<std::string> classes, size_t labels, bool json)
      : classes_(std::move(classes)), labels_(labels), json_(json) {}

  // The result of a blank line.
  std::string empty() const { return json_ ? "null" : ""; }

  std::string operator()(const Predictions& predictions, size_t row) const {
    if (classes_.empty()) {
      const Json score = predictions.outputs[row];
      return json_ ? Json{{"score", score}}.dump() : score.dump();
    }
    const std::vector<double> probabilities = predictions.probabilities(row);
    std::vector<size_t> order(probabilities.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return probabilities[a] > probabilities[b]; });
    return json_ ? object(probabilities, order.front()) : columns(probabilities, order);
  }

 private:
  std::string object(const std::vector<double>& probabilities, size_t best) const {
    Json all;
    for (size_t i = 0; i < probabilities.size(); ++i) all[classes_[i]] = probabilities[i];
    return Json{{"label", classes_[best]}, {"probabilities", all}}.dump();
  }

  std::string columns(const std::vector<double>& probabilities, const std::vector<size_t>& order) const {
    std::string text;
    for (size_t i = 0; i < labels_; ++i) {
      char probability[32];
      std::snprintf(probability, sizeof probability, "\t%.6f", probabilities[order[i]]);
      text += (i > 0 ? "\t" : "") + classes_[order[i]] + probability;
    }
    return text;
  }

  std::vector<std::string> classes_;
  size_t labels_;
  bool json_;
};

class Predictor {
 public:
  explicit Predictor(const PredictArgs& args)
      : args_(args),
        trained_(args.load()),
        task_(task_of(args, trained_.model->config())),
        max_length_(args.length(*trained_.model, task_.max_length)),
        format_(task_.classes, size_t(args.top_k), args.json),
        input_(args.input, args.bad_lines.policy),
        output_(args.output) {
    args.table->reject_unused("top-k", !task_.classes.empty(), "the model predicts a score");
    if (!task_.classes.empty()) expect_between(1, int(task_.classes.size()), "--top-k", args.top_k);
  }

  void run() {
    const auto next = [&](std::string& line) {
      if (!input_.next(line)) return false;
      check_texts(line, task_.is_pair, input_);
      if (input_.is_skipped()) line.clear();
      return true;
    };
    const uint64_t count = for_each_window<std::string>(
        input_.window(size_t(args_.maxi_batch * args_.mini_batch)), output_, next,
        [&](const std::vector<std::string>& lines, uint64_t first) { predict_lines(lines, first); });
    output_.commit();
    progress_.reset();
    input_.print_report();
    print_message(concat(input_.name(), ": ", count, count == 1 ? " line, " : " lines, ", truncated_, " truncated to ",
                         max_length_, " tokens"));
  }

 private:
  std::string place(uint64_t line) const { return concat(input_.name(), ":", line); }

  // Writes one result for each line; `first` is the number of lines before them.
  void predict_lines(const std::vector<std::string>& lines, uint64_t first) {
    std::vector<LabeledRow> rows;
    std::vector<uint64_t> numbers;  // numbers of the lines that are not blank
    for (size_t i = 0; i < lines.size(); ++i) {
      if (is_blank(lines[i])) continue;
      rows.push_back(row_of(lines[i]));
      numbers.push_back(first + i + 1);
    }
    const LabeledIds ids(rows, task_.is_pair, *trained_.vocabulary, max_length_);
    truncated_ += ids.truncated();
    if (progress_ && first > 0) progress_->show(int64_t(first));
    const Predictions predictions = args_.predictions(*trained_.model, ids);
    size_t row = 0;
    for (uint64_t line = first + 1; line <= first + lines.size(); ++line) {
      if (row == numbers.size() || numbers[row] != line) {
        output_.write(format_.empty());
        continue;
      }
      require(predictions.is_finite(row), place(line), ": the outputs of the model are not finite numbers");
      output_.write(format_(predictions, row++));
    }
  }

  const PredictArgs& args_;
  TrainedModel<SequenceClassifier> trained_;
  PredictedTask task_;
  int max_length_;
  ResultFormat format_;
  InputLines input_;
  OutputLines output_;
  std::unique_ptr<WorkProgress> progress_ = line_progress(args_.output);  // may be null
  uint64_t truncated_ = 0;
};

int run(PredictArgs& args) {
  require_no_input(args.output, {args.input});
  expect_between<uint64_t>(1, 1 << 20, "--maxi-batch", args.maxi_batch);
  args.table->reject_unused("top-k", !args.json, "--json has the probabilities of all labels");
  args.is_match = is_match_task(find_run(args.model));
  if (args.is_match && !args.table->given("mini-batch")) args.mini_batch = 16;  // pairs of a matcher are long
  Predictor(args).run();
  return 0;
}

}  // namespace

void add_predict_command(Program& program) {
  auto args = std::make_shared<PredictArgs>();
  OptionTable& table = program.command("predict", "labels and probabilities of texts, with a trained classifier",
                                       [args] { return run(*args); });
  args->table = &table;
  add_model_rows(table, args->model, args->checkpoint);
  table.add("--input,-i", args->input, "FILE",
            "one text per line, or two separated by a tab if the model takes pairs; default: standard input");
  table.add("--output,-o", args->output, "FILE",
            "file for a line of results per line of input: the label and its probability, separated by a tab, or the "
            "score of a regression or a text matcher; default: standard output");
  table.add("--preset", args->preset, "NAME", "GLUE task (glue-sst2) to use instead of the trained task");
  table.add("--labels", args->labels, "LABEL...",
            "names of the classes of an imported model; default: its own, or LABEL_0, LABEL_1 and so on");
  table.add_flag("--pairs", args->pairs, "read two texts per line for an imported model");
  table.add("--top-k,-k", args->top_k, "LABELS", "labels per line, the most probable first");
  table.add_flag("--json", args->json, "write a JSON object per line, with the probabilities of all labels");
  args->bad_lines.add_row(table, "not UTF-8 or have another number of texts");
  args->add_length_row(table, "line");
  args->add_execution_rows(table, "lines");
  table.add("--maxi-batch", args->maxi_batch, "BATCHES",
            "batches of lines that are read ahead and sorted by length; 1, with --mini-batch 1, answers at once");
}

}  // namespace gyre
