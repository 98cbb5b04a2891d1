// gyre evaluate answers: scores the answers of a causal language model, or given ones, as LongBench does.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "gyre/core/io/json.h"
#include "gyre/core/option_checks.h"
#include "gyre/data/text/text_input.h"
#include "gyre/train/analysis/longbench.h"
#include "gyre/train/log/console.h"
#include "tools/command_line/messages.h"
#include "tools/commands/greedy_generation.h"
#include "tools/lines.h"
#include "tools/program.h"

namespace gyre {

namespace {

struct AnswersArgs {
  GreedyOptions model;
  std::vector<Path> inputs, predictions;
  Path prompt, output;
  std::optional<AnswerMetric> metric;
  int max_tokens = 0, max_length = 0;
  uint64_t limit = 0;
  bool quiet = false, json = false;
  OptionTable* table = nullptr;
};

std::vector<AnswerRecord> read_records(const std::vector<Path>& files) {
  std::vector<AnswerRecord> records;
  for (const Path& file : expand_paths(files)) {
    std::vector<AnswerRecord> more = read_answer_records(file);
    std::move(more.begin(), more.end(), std::back_inserter(records));
  }
  return records;
}

// Keeps the first `limit` records of each data set.
void keep_first(std::vector<AnswerRecord>& records, uint64_t limit) {
  std::map<std::string, uint64_t> counts;
  std::erase_if(records, [&](const AnswerRecord& record) { return ++counts[record.dataset] > limit; });
}

// Gives the records of --input the predictions of the same lines of --predictions.
void join_predictions(std::vector<AnswerRecord>& records, const std::vector<AnswerRecord>& predictions) {
  require(records.size() == predictions.size(), "--predictions: expected a line for each of the ", records.size(),
          " records of --input, got ", predictions.size());
  for (size_t i = 0; i < records.size(); ++i) {
    const AnswerRecord& prediction = predictions[i];
    if (!prediction.answers.empty() && prediction.answers != records[i].answers)
      throw Error(prediction.place, ": expected the answers of ", records[i].place, ", found others");
    records[i].prediction = prediction.prediction;
  }
}

// How the records of a data set are answered and scored.
struct AnswerPlan {
  std::string category;
  AnswerMetric metric{};
  int max_tokens = 0;
  bool is_first_line = false;
  std::string prompt;  // empty: predictions are given
};

class AnswerEvaluation {
 public:
  explicit AnswerEvaluation(const AnswersArgs& args) : args_(args) {
    if (!args.inputs.empty()) records_ = read_records(args.inputs);
    if (has_predictions()) {
      std::vector<AnswerRecord> predictions = read_records(args.predictions);
      for (const AnswerRecord& record : predictions)
        if (!record.prediction) throw Error(record.place, ": expected a \"pred\" or a \"text\", found none");
      if (args.inputs.empty()) {
        records_ = std::move(predictions);
      } else {
        join_predictions(records_, predictions);
      }
    }
    if (args.limit > 0) keep_first(records_, args.limit);
    if (!args.prompt.empty()) prompt_ = read_prompt();
    for (const AnswerRecord& record : records_) plans_.try_emplace(record.dataset, plan_of(record));
    note_characters();
  }

  int run() {
    if (!has_predictions()) predict();
    std::vector<DatasetScore> scores;
    for (const AnswerRecord& record : records_) {
      const AnswerPlan& plan = plans_.at(record.dataset);
      auto score = std::ranges::find(scores, record.dataset, &DatasetScore::dataset);
      if (score == scores.end()) score = scores.insert(score, {record.dataset, plan.category, plan.metric});
      score->add(record_score(record, *record.prediction, plan.metric, plan.is_first_line), record.length);
    }
    if (!args_.output.empty()) write_predictions();
    if (args_.json) {
      std::cout << json_text(json_of(scores)) << '\n';
    } else {
      print(scores);
    }
    return 0;
  }

 private:
  bool has_predictions() const { return !args_.predictions.empty(); }

  // The template without the line end at its end, which editors add.
  std::string read_prompt() const {
    std::string prompt = read_file(args_.prompt);
    if (prompt.ends_with('\n')) prompt.pop_back();
    if (prompt.ends_with('\r')) prompt.pop_back();
    return prompt;
  }

  AnswerPlan plan_of(const AnswerRecord& record) const {
    const LongBenchTask* const task = find_longbench_task(record.dataset);
    AnswerPlan plan;
    if (task != nullptr) {
      plan = {std::string(task->category), task->metric, task->max_tokens, task->is_first_line,
              std::string(task->prompt)};
    }
    const auto missing = [&](const char* option) {
      return UsageError(option, ": expected one, because LongBench has no data set ",
                        quoted_for_message(record.dataset), " (", record.place, ")");
    };
    if (args_.metric) {
      plan.metric = *args_.metric;
    } else if (task == nullptr) {
      throw missing("--metric");
    }
    if (has_predictions()) return plan;
    if (!args_.prompt.empty()) {
      plan.prompt = prompt_;
    } else if (task == nullptr) {
      throw missing("--prompt");
    }
    if (args_.max_tokens > 0) {
      plan.max_tokens = args_.max_tokens;
    } else if (task == nullptr) {
      throw missing("--max-tokens");
    }
    return plan;
  }

  void note_characters() const {
    for (const auto& [dataset, plan] : plans_) {
      if (args_.metric || args_.quiet) continue;
      if (plan.metric == AnswerMetric::f1_characters || plan.metric == AnswerMetric::rouge_l_characters)
        print_message(concat(dataset, ": ", enum_name(plan.metric),
                             " compares characters, LongBench the words of jieba: the scores are not comparable"));
    }
  }

  void predict() {
    const GreedyGenerator generator(args_.model);
    WorkProgress progress("prompts", int64_t(records_.size()));
    size_t cut = 0;
    for (size_t begin = 0; begin < records_.size(); begin += args_.model.mini_batch) {
      const size_t end = std::min(records_.size(), begin + args_.model.mini_batch);
      std::vector<GreedyPrompt> prompts;
      for (size_t i = begin; i < end; ++i) prompts.push_back(prompt_of(records_[i], generator, cut));
      std::vector<std::string> texts = generator.run(prompts);
      for (size_t i = begin; i < end; ++i) records_[i].prediction = std::move(texts[i - begin]);
      if (!args_.quiet) progress.show(int64_t(end));
    }
    progress.clear();
    if (cut > 0 && !args_.quiet)
      print_message(fmt::format("{} of {} prompts were too long and lost their middle", cut, records_.size()));
  }

  // Also counts the prompts that are cut, and drops the texts of the record, which may be large.
  GreedyPrompt prompt_of(AnswerRecord& record, const GreedyGenerator& generator, size_t& cut) const {
    const AnswerPlan& plan = plans_.at(record.dataset);
    GreedyPrompt prompt{{}, fill_prompt(plan.prompt, record), plan.max_tokens, plan.is_first_line};
    record.texts.clear();
    prompt.ids = generator.encode(prompt.text);
    const int64_t limit = prompt_limit(generator, plan.max_tokens);
    if (limit > 0 && int64_t(prompt.ids.size()) > limit) {
      cut_middle(prompt.ids, size_t(limit));
      ++cut;
    }
    return prompt;
  }

  // The maximum number of tokens of a prompt; 0: unlimited.
  int64_t prompt_limit(const GreedyGenerator& generator, int max_tokens) const {
    if (args_.max_length > 0) {
      expect(args_.max_length < generator.longest(), "--max-length",
             concat("fewer tokens than the positions of the model, ", generator.longest()), args_.max_length);
      return args_.max_length;
    }
    const int64_t context = generator.context();
    if (context == 0) return 0;
    require(context >= max_tokens + 2, "[answers] expected room for an answer of ", max_tokens,
            " tokens behind a prompt, got a model for ", context, " tokens; --max-tokens shortens answers");
    return context - max_tokens;
  }

  // Writes the lines of LongBench's pred.py, with the name of the data set.
  void write_predictions() const {
    OutputLines output(args_.output);
    for (const AnswerRecord& record : records_) {
      Json line{
          {"pred", *record.prediction}, {"answers", record.answers}, {"all_classes", nullptr}, {"length", nullptr}};
      if (!record.classes.empty()) line["all_classes"] = record.classes;
      if (record.length) line["length"] = *record.length;
      line["dataset"] = record.dataset;
      output.write(json_text(line));
    }
    output.commit();
  }

  // The means of the scores of data sets by category, in the order of their first data sets.
  static std::vector<std::pair<std::string, MeanScore>> by_category(const std::vector<DatasetScore>& scores) {
    std::vector<std::pair<std::string, MeanScore>> categories;
    for (const DatasetScore& score : scores) {
      if (score.category.empty()) continue;
      auto category = std::ranges::find(categories, score.category, &std::pair<std::string, MeanScore>::first);
      if (category == categories.end()) category = categories.insert(category, {score.category, {}});
      category->second.add(score.all.percent() / 100);
    }
    return categories;
  }

  static double average(const std::vector<DatasetScore>& scores) {
    MeanScore mean;
    for (const DatasetScore& score : scores) mean.add(score.all.percent() / 100);
    return mean.percent();
  }

  Json json_of(const std::vector<DatasetScore>& scores) const {
    Json json{{"average", average(scores)}, {"categories", Json::object()}, {"datasets", Json::array()}};
    if (!has_predictions()) json["model"] = args_.model.model.string();
    for (const auto& [category, mean] : by_category(scores)) json["categories"][category] = mean.percent();
    for (const DatasetScore& score : scores) {
      Json row{{"dataset", score.dataset},
               {"metric", enum_name(score.metric)},
               {"records", score.all.records},
               {"score", score.all.percent()},
               {"lengths", Json::object()}};
      for (size_t i = 0; i < score.by_length.size(); ++i) {
        const MeanScore& mean = score.by_length[i];
        if (mean.records > 0)
          row["lengths"][DatasetScore::kLengths[i]] = {{"records", mean.records}, {"score", mean.percent()}};
      }
      json["datasets"].push_back(std::move(row));
    }
    return json;
  }

  static std::string cell(const MeanScore& mean) {
    return mean.records == 0 ? fmt::format(" {:>7}", "-") : fmt::format(" {:>7.2f}", mean.percent());
  }

  static void print(const std::vector<DatasetScore>& scores) {
    std::cout << fmt::format("{:<20} {:<18} {:>7} {:>7}", "data set", "metric", "records", "score");
    for (const std::string_view length : DatasetScore::kLengths) std::cout << fmt::format(" {:>7}", length);
    std::cout << '\n';
    for (const DatasetScore& score : scores) {
      std::cout << fmt::format("{:<20} {:<18} {:>7}", printable_line(score.dataset), enum_name(score.metric),
                               score.all.records)
                << cell(score.all);
      for (const MeanScore& mean : score.by_length) std::cout << cell(mean);
      std::cout << '\n';
    }
    const auto print_mean = [](const std::string& name, double percent) {
      std::cout << fmt::format("{:<47} {:>7.2f}\n", name, percent);
    };
    for (const auto& [category, mean] : by_category(scores)) print_mean(category, mean.percent());
    if (scores.size() > 1) print_mean("average", average(scores));
  }

  const AnswersArgs& args_;
  std::vector<AnswerRecord> records_;
  std::string prompt_;
  std::map<std::string, AnswerPlan> plans_;  // by data set
};

int evaluate(AnswersArgs& args) {
  const OptionTable& table = *args.table;
  const bool generates = args.predictions.empty();
  if (generates && args.model.model.empty()) throw UsageError("--model: expected a model, or --predictions to score");
  if (generates && args.inputs.empty())
    throw UsageError("--input: expected records to answer, or --predictions to score");
  for (const char* name : {"model", "checkpoint", "vocab", "bos", "prompt", "max-tokens", "max-length", "mini-batch",
                           "output", "precision", "device"})
    table.reject_unused(name, generates, "--predictions has the answers");
  expect_at_least(0, "--max-tokens", args.max_tokens);
  expect_at_least(0, "--max-length", args.max_length);
  args.model.check();
  std::vector<Path> read = args.inputs;
  read.push_back(args.prompt);
  require_no_input(args.output, read);
  args.model.threads.use();
  return AnswerEvaluation(args).run();
}

}  // namespace

void add_evaluate_answers_command(Program& program) {
  auto args = std::make_shared<AnswersArgs>();
  OptionTable& table = program.command("evaluate answers", "answers of a language model, by the metrics of LongBench",
                                       [args] { return evaluate(*args); });
  args->table = &table;
  args->model.add_model_rows(table);
  table.required("model", false);
  table.add(
      "--input,-i", args->inputs, "FILE...",
      "JSON lines of LongBench: input, context, answers, all_classes, length and dataset; files, folders, patterns");
  table.add("--predictions", args->predictions, "FILE...",
            "JSON lines with a \"pred\" or a \"text\" to score instead of generating answers; without --input each has "
            "its \"answers\" too, as LongBench's pred.py writes them");
  table.add("--output,-o", args->output, "FILE", "also write the generated answers, in the form of pred.py");
  table.add({"--metric", one_of(&args->metric, "auto"), "", "metric of all records; auto: that of the data set"});
  table.add(
      "--prompt", args->prompt, "FILE",
      "template of the prompt, in which {context} and {input} stand for these texts of a record; default: that of "
      "the data set");
  table.add("--max-tokens,--max-new-tokens", args->max_tokens, "TOKENS",
            "maximum tokens of an answer; 0: those of the data set");
  table.add("--max-length", args->max_length, "TOKENS",
            "maximum tokens of a prompt, whose middle is left out; 0: as many as the model was trained on, or has "
            "positions for, with an answer");
  table.add("--limit", args->limit, "RECORDS", "answer only the first records of each data set; 0: all");
  table.add_flag("--json", args->json, "print one JSON object");
  args->model.add_execution_rows(table);
  table.add_flag("--quiet", args->quiet, "print no progress");
}

}  // namespace gyre
