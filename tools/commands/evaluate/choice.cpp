// gyre evaluate choice: answers multiple-choice questions with a causal language model, as lm-evaluation-harness does:
// the best choice has the largest log-probability after the question.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iostream>
#include <iterator>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/core/kernels/kernels.h"
#include "gyre/core/option_checks.h"
#include "gyre/core/parallel_for.h"
#include "gyre/data/text/choice_text.h"
#include "gyre/data/text/utf8.h"
#include "gyre/data/tokenizer/vocabulary.h"
#include "gyre/models/decode/given_tokens.h"
#include "gyre/models/encoder_only.h"
#include "gyre/models/position/position_table.h"
#include "gyre/train/log/console.h"
#include "gyre/train/pretrained/trained_model.h"
#include "tools/command_line/messages.h"
#include "tools/lines.h"
#include "tools/options/computing_options.h"
#include "tools/options/model_choice.h"
#include "tools/program.h"

namespace gyre {

namespace {

// ---- Answers and their scores
// -----------------------------------------------------------------------------------------

// Examples that precede every question: the first ones of a list other than the question itself.
struct Shots {
  std::vector<ChoiceQuestion> from{};
  size_t count = 0;
};

struct ChoiceOptions {
  std::string description{};  // text before the examples and the question
  Shots shots{};
  // The ids of a text with those that begin a document, where the model expects them. An empty text has at least one
  // id, because a model needs a token to begin with. Called by several threads.
  std::function<std::vector<int32_t>(const std::string& text)> encode{};
  int64_t max_length = 1024;  // tokens that the model reads; longer contexts lose their first tokens
  Precision precision = Precision::fp32;
  int64_t batch_tokens = 16384;
  std::function<void(size_t done)> on_choices{};  // called with the number of choices that were scored so far
};

struct AnsweredQuestion {
  std::vector<ContinuationScore> choices;
  size_t best = 0;       // the choice with the largest log-probability; the first of equals
  size_t best_norm = 0;  // likewise for the log-probability divided by the number of characters
};

// The mean of a metric over the questions and its standard error, which is NaN for a single question.
struct ChoiceMetric {
  double mean = 0, standard_error = 0;
};

struct ChoiceScore {
  uint64_t questions = 0;
  bool asks_last_word = false;  // LAMBADA: accuracy is that of greedy decoding, and there is no acc_norm
  ChoiceMetric accuracy{}, accuracy_norm{};
  double perplexity = 0;  // exponential of the mean of -log P over the words, if a last word is asked for
};

// The token ids of a context and what follows it, as lm-evaluation-harness divides them: white space at the end of the
// context moves to the continuation, and a piece of the whole text that spans both belongs to the context. Throws an
// Error if nothing is left to score, or more than `max_length` tokens are.
GivenContinuation encode_continuation(const Vocabulary& vocabulary, const ChoiceOptions& options,
                                      const std::string& context, const std::string& continuation) {
  GivenContinuation given;
  if (context.empty()) {
    given = {options.encode(""), vocabulary.encode(continuation)};
  } else {
    const std::u32string characters = code_points(context);
    const std::u32string_view kept = strip_right(characters);
    const std::string before = to_utf8(kept), after = to_utf8(std::u32string_view(characters).substr(kept.size()));
    given.context = options.encode(before);
    const std::vector<int32_t> whole = options.encode(before + after + continuation);
    if (whole.size() > given.context.size())
      given.ids.assign(whole.begin() + ptrdiff_t(given.context.size()), whole.end());
  }
  const auto tokens = int64_t(given.ids.size()), most = options.max_length;
  require(tokens > 0, "expected a choice with tokens of its own, got none after the question");
  require(tokens <= most, "expected a choice of at most ", most, " tokens (--max-length), got ", tokens);
  const int64_t surplus = int64_t(given.context.size()) + tokens - (most + 1);  // the last token is not read
  if (surplus > 0) given.context.erase(given.context.begin(), given.context.begin() + surplus);
  return given;
}

std::string text_before(const ChoiceQuestion& question, const ChoiceOptions& options) {
  std::string text = options.description;
  size_t count = 0;
  for (const ChoiceQuestion& other : options.shots.from) {
    if (count == options.shots.count) break;
    if (other.example == question.example) continue;
    text += other.example;
    ++count;
  }
  require(count == options.shots.count, "expected ", options.shots.count, " examples beside the question (--shots), ",
          "got ", count);
  return text;
}

ChoiceMetric metric_of(const std::vector<double>& values) {
  const auto n = double(values.size());
  double sum = 0, squares = 0;
  for (const double value : values) sum += value;
  const double mean = sum / n;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return {mean, values.size() > 1 ? std::sqrt(squares / (n - 1) / n) : std::numeric_limits<double>::quiet_NaN()};
}

// Scores every choice of the questions. Throws an Error with the line of a question whose choice cannot be scored, and
// unless the list of examples has as many as are asked for beside the question.
std::vector<AnsweredQuestion> answer_questions(const EncoderOnly& model, Kernels& kernels, const Vocabulary& vocabulary,
                                               const std::vector<ChoiceQuestion>& questions,
                                               const ChoiceOptions& options) {
  require(options.max_length >= 1 && options.max_length <= model.longest(), "[choice] --max-length: expected 1 to ",
          model.longest(), ", the number of positions of the model, got ", options.max_length);
  std::vector<std::vector<GivenContinuation>> by_question(questions.size());
  parallel_for(questions.size(), 1, [&](size_t i) {
    try {
      const std::string before = text_before(questions[i], options);
      for (const Choice& choice : questions[i].choices)
        by_question[i].push_back(encode_continuation(vocabulary, options, before + choice.prompt, choice.answer));
    } catch (const Error& error) {
      throw Error("[choice] line ", questions[i].line, ": ", error.what());
    }
  });
  std::vector<GivenContinuation> all;
  for (std::vector<GivenContinuation>& choices : by_question)
    std::move(choices.begin(), choices.end(), std::back_inserter(all));
  std::vector<ContinuationScore> scores =
      score_continuations(model, kernels, all, options.precision, options.batch_tokens, options.on_choices);

  std::vector<AnsweredQuestion> answers;
  auto next = scores.begin();
  for (const ChoiceQuestion& question : questions) {
    AnsweredQuestion answer;
    std::vector<double> sums, normalized;
    for (const Choice& choice : question.choices) {
      sums.push_back(next->log_probability());
      normalized.push_back(sums.back() / double(choice.characters));
      answer.choices.push_back(std::move(*next++));
    }
    answer.best = size_t(std::max_element(sums.begin(), sums.end()) - sums.begin());
    answer.best_norm = size_t(std::max_element(normalized.begin(), normalized.end()) - normalized.begin());
    answers.push_back(std::move(answer));
  }
  return answers;
}

ChoiceScore score_answers(const std::vector<ChoiceQuestion>& questions, const std::vector<AnsweredQuestion>& answers) {
  std::vector<double> right, right_norm;
  double correct_sum = 0;  // sum of the log-probabilities of the correct choices
  ChoiceScore score{.questions = questions.size(), .asks_last_word = questions.front().choices.size() == 1};
  for (size_t i = 0; i < questions.size(); ++i) {
    const size_t correct = questions[i].correct;
    const ContinuationScore& choice = answers[i].choices[correct];
    right.push_back(score.asks_last_word ? double(choice.is_greedy) : double(answers[i].best == correct));
    right_norm.push_back(double(answers[i].best_norm == correct));
    correct_sum += choice.log_probability();
  }
  score.accuracy = metric_of(right);
  score.accuracy_norm = metric_of(right_norm);
  score.perplexity = std::exp(-correct_sum / double(questions.size()));
  return score;
}

// ---- The command ---------------------------------------------------------------------------------------------------

struct EvaluateChoiceArgs {
  Path model, vocabulary, shots_from, output;
  std::string checkpoint, description;
  std::vector<Path> inputs;
  ChoiceFormat format = ChoiceFormat::by_fields;
  OnBadLine on_bad_line = OnBadLine::by_kind;
  uint64_t shots = 0, limit = 0;
  int64_t max_length = 0, batch_tokens = 16384;  // max_length 0: default_length()
  BosChoice bos;
  DeviceChoice device;
  PrecisionChoice precision;
  CpuThreads threads;
  bool json = false;
  const OptionTable* table = nullptr;
};

// The questions of a file with their answers and score.
struct ChoiceResult {
  Path file;
  ChoiceFormat format;
  std::vector<ChoiceQuestion> questions;
  Shots shots;
  std::vector<AnsweredQuestion> answers;
  ChoiceScore score;
};

void require_causal_model(const Path& model) {
  require_language_model(model);
  require(read_config<EncoderOnlyConfig>(find_run(model)).causal,
          "[choice] expected a causal language model, got a bidirectional one");
}

// The max_position_embeddings that gyre export writes, by which other programs cut contexts: the training length of a
// model whose positions have no table.
int64_t default_length(const EvaluateChoiceArgs& args, const EncoderOnly& model) {
  const int64_t positions = model.config().position.get<PositionTableOptions>().max_positions;
  const auto trained = longest_sample(args.model, args.checkpoint);
  const bool is_unlimited = model.longest() > positions;
  return trained && is_unlimited ? *trained : std::min(positions, model.longest());
}

// The options of all files; encode() refers to the vocabulary.
ChoiceOptions options_of(const EvaluateChoiceArgs& args, const EncoderOnly& model, const Vocabulary& vocabulary,
                         const Kernels& kernels) {
  ChoiceOptions options{.description = args.description};
  options.max_length = args.max_length > 0 ? args.max_length : default_length(args, model);
  options.precision = args.precision.on(kernels);
  options.batch_tokens = args.batch_tokens;
  options.encode = [&vocabulary,
                    before = args.bos.before_text(args.model, args.checkpoint, vocabulary)](const std::string& text) {
    std::vector<int32_t> ids = vocabulary.encode(text);
    put_before_text(before, vocabulary, ids);
    return ids;
  };
  return options;
}

std::vector<ChoiceResult> read_questions(const EvaluateChoiceArgs& args) {
  std::vector<ChoiceResult> results;
  for (const Path& input : args.inputs) {
    const ChoiceText text(input, args.format, args.on_bad_line);
    print_message(text.describe());
    results.push_back({input, text.format(), text.questions(), {}, {}, {}});
    ChoiceResult& result = results.back();
    if (args.shots > 0) {
      const bool has_own = args.shots_from.empty();
      result.shots = {
          has_own ? result.questions : ChoiceText(args.shots_from, text.format(), args.on_bad_line).questions(),
          args.shots};
    }
    if (args.limit > 0 && args.limit < result.questions.size()) result.questions.resize(args.limit);
  }
  return results;
}

Json number_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

std::string fixed(double value) { return std::isfinite(value) ? fmt::format("{:.4f}", value) : "n/a"; }

Json summary_of(const ChoiceResult& result) {
  const ChoiceScore& score = result.score;
  Json json{{"file", result.file.string()}, {"format", enum_name(result.format)},
            {"questions", score.questions}, {"shots", result.shots.count},
            {"acc", score.accuracy.mean},   {"acc_stderr", number_or_null(score.accuracy.standard_error)}};
  if (score.asks_last_word) {
    json["perplexity"] = number_or_null(score.perplexity);
  } else {
    json["acc_norm"] = score.accuracy_norm.mean;
    json["acc_norm_stderr"] = number_or_null(score.accuracy_norm.standard_error);
  }
  return json;
}

// The object of a question in --output.
std::string line_of(const ChoiceResult& result, size_t i) {
  const AnsweredQuestion& answer = result.answers[i];
  Json json{{"file", result.file.string()}, {"line", result.questions[i].line}};
  Json log_probabilities = Json::array(), tokens = Json::array(), greedy = Json::array();
  for (const ContinuationScore& choice : answer.choices) {
    log_probabilities.push_back(choice.log_probability());
    tokens.push_back(choice.log_probs.size());
    greedy.push_back(choice.is_greedy);
  }
  json["log_probabilities"] = log_probabilities;
  json["tokens"] = tokens;
  json["greedy"] = greedy;
  json["correct"] = result.questions[i].correct;
  json["best"] = answer.best;
  json["best_norm"] = answer.best_norm;
  return json_text(json);
}

void write_lines(const Path& output, const std::vector<ChoiceResult>& results) {
  OutputLines lines(output);
  for (const ChoiceResult& result : results)
    for (size_t i = 0; i < result.questions.size(); ++i) lines.write(line_of(result, i));
  lines.commit();
}

void print_results(const std::vector<ChoiceResult>& results, bool as_json) {
  if (as_json) {
    Json list = Json::array();
    for (const ChoiceResult& result : results) list.push_back(summary_of(result));
    std::cout << json_text({{"results", list}}) << '\n';
    return;
  }
  size_t width = 4;
  for (const ChoiceResult& result : results) width = std::max(width, result.file.string().size());
  const auto row = [&](const std::string& file, const std::string& format, const std::string& questions,
                       const std::string& shots, const std::string& metric, const std::string& value,
                       const std::string& error) {
    std::cout << fmt::format("{:<{}}  {:<17}  {:>9}  {:>5}  {:<10}  {:>9}  {:>6}\n", printable_line(file), width,
                             format, questions, shots, metric, value, error);
  };
  row("file", "format", "questions", "shots", "metric", "value", "stderr");
  for (const ChoiceResult& result : results) {
    const ChoiceScore& score = result.score;
    row(result.file.string(), std::string(enum_name(result.format)), std::to_string(score.questions),
        std::to_string(result.shots.count), "acc", fixed(score.accuracy.mean), fixed(score.accuracy.standard_error));
    if (score.asks_last_word) {
      row("", "", "", "", "perplexity", fixed(score.perplexity), "");
    } else {
      row("", "", "", "", "acc_norm", fixed(score.accuracy_norm.mean), fixed(score.accuracy_norm.standard_error));
    }
  }
}

void check(const EvaluateChoiceArgs& args) {
  expect_at_least(0, "--max-length", args.max_length);
  expect_at_least(1, "--mini-batch-words", args.batch_tokens);
  args.table->reject_unused("shots-from", args.shots > 0, "--shots is 0");
  std::vector<Path> read = args.inputs;
  read.push_back(args.shots_from);
  if (!args.output.empty()) require_no_input(args.output, read);
}

int evaluate(const EvaluateChoiceArgs& args) {
  check(args);
  args.threads.use();
  require_causal_model(args.model);
  std::vector<ChoiceResult> results = read_questions(args);
  print_model_choice(args.model, args.checkpoint);
  Kernels& kernels = args.device.kernels();
  const auto trained = load_trained_model<EncoderOnly>(args.model, args.checkpoint, args.vocabulary, kernels.device());
  ChoiceOptions options = options_of(args, *trained.model, *trained.vocabulary, kernels);
  for (ChoiceResult& result : results) {
    options.shots = result.shots;
    int64_t choices = 0;
    for (const ChoiceQuestion& question : result.questions) choices += int64_t(question.choices.size());
    WorkProgress progress("choices", choices);
    options.on_choices = [&](size_t done) { progress.show(int64_t(done)); };
    try {
      result.answers = answer_questions(*trained.model, kernels, *trained.vocabulary, result.questions, options);
    } catch (const Error& error) {
      throw Error(result.file.string(), ": ", error.what());
    }
    progress.clear();
    result.score = score_answers(result.questions, result.answers);
  }
  if (!args.output.empty()) write_lines(args.output, results);
  print_results(results, args.json);
  return 0;
}

}  // namespace

void add_evaluate_choice_command(Program& program) {
  auto args = std::make_shared<EvaluateChoiceArgs>();
  OptionTable& table = program.command("evaluate choice", "multiple-choice questions for a language model, and LAMBADA",
                                       [args] { return evaluate(*args); });
  args->table = &table;
  add_model_rows(table, args->model, args->checkpoint);
  table.add("--vocab,-v", args->vocabulary, "FILE", "vocabulary to use instead of the run's own copy");
  table.add("--input,-i", args->inputs, "FILE...", "JSON lines, also compressed; each file gets a row of the table");
  table.required("input");
  table.add_enum("--format", args->format,
                 "fields of the questions and their prompts, which are those of lm-evaluation-harness; auto: by the "
                 "fields of the first question");
  table.add("--shots,--num-fewshot", args->shots, "NUMBER",
            "examples with their answers before each question: the first ones of the file except the question itself");
  table.add("--shots-from", args->shots_from, "FILE", "take the examples from the beginning of another file");
  table.add("--description", args->description, "TEXT", "text before the examples");
  table.add("--limit", args->limit, "QUESTIONS", "score only the first questions of each file; 0: all");
  table.add("--output,-o", args->output, "FILE",
            "a JSON object per question: the log-probabilities of its choices, the correct and the best one");
  table.add_enum("--on-bad-line", args->on_bad_line,
                 "handling of bad lines; default: error for bad JSON and invalid UTF-8, skip for blank lines");
  args->bos.add_row(table);
  table.add(
      "--max-length", args->max_length, "TOKENS",
      "tokens that the model reads: a longer context loses its beginning; 0: the training length, or the positions of "
      "the model");
  table.add_flag("--json", args->json, "print one JSON object");
  table.group("Execution");
  table.add("--mini-batch-words,--max-tokens", args->batch_tokens, "TOKENS",
            "maximum tokens per batch, with the context of every choice");
  args->device.add_row(table);
  args->precision.add_inference_row(table);
  args->threads.add_row(table);
}

}  // namespace gyre
