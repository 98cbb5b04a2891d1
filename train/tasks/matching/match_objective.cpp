#include "gyre/train/tasks/matching/match_objective.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/core/option_checks.h"
#include "gyre/train/pretrained/trained_model.h"

namespace gyre {

namespace {

// log(1 + exp(x)) without overflow.
double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

// The mean of f(nearer, farther) over the triplets.
template <class F>
double mean_of(const Predictions& predictions, F&& f) {
  double sum = 0;
  for (size_t row = 0; row < predictions.rows(); row += 2)
    sum += f(predictions.outputs[row], predictions.outputs[row + 1]);
  return sum / (double(predictions.rows()) / 2);
}

}  // namespace

LossResult MatchObjective::operator()(Tape& tape, const SequenceClassifier& model, const LabeledInput& pairs) const {
  const Var scores = model.outputs(tape, pairs);
  return is_margin_loss() ? margin_loss(scores, margin) : binary_cross_entropy(scores, pairs.labels);
}

double match_score(std::string_view metric, const Predictions& predictions, const MatchObjective& objective) {
  if (metric == "accuracy") return mean_of(predictions, [](double a, double b) { return a > b ? 1.0 : 0.0; });
  if (metric == "cross-entropy") {
    return mean_of(predictions, [](double a, double b) { return (softplus(-a) + softplus(b)) / 2; });
  }
  if (metric == "margin-loss") {
    return mean_of(predictions, [&](double nearer, double farther) {
      const double loss = objective.margin - nearer + farther;
      return loss <= 0 ? 0.0 : loss;  // NaN stays NaN
    });
  }
  throw UsageError("[matching] expected accuracy, cross-entropy or margin-loss, got ", metric);
}

Json MatchTask::to_json() const {
  return {{"task", "match"},
          {"loss", std::string(enum_name(objective.loss))},
          {"margin", objective.margin},
          {"max_length", max_length}};
}

bool is_match_task(const Path& run) {
  if (!std::filesystem::exists(task_path(run))) return false;
  const Json json = read_json(task_path(run));
  return json.is_object() && json.contains("task") && json["task"] == "match";
}

MatchTask read_match_task(const Path& run) {
  const Json json = read_json(task_path(run));
  try {
    require(json.at("task") == "match", "the task is another one");
    const MatchLoss loss = parse_enum<MatchLoss>("loss", json.at("loss").get<std::string>());
    MatchTask task{{loss, json.at("margin")}, json.at("max_length")};
    expect_finite_at_least(0, "margin", task.objective.margin);
    expect_at_least(4, "max_length", task.max_length);
    return task;
  } catch (const std::exception& error) {
    throw Error(task_path(run).string(), ": expected a task as gyre train match writes it: ", json_reason(error));
  }
}

}  // namespace gyre
