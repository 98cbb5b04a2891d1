#include "gyre/train/tasks/matching/match_objective.h"

#include <algorithm>
#include <cmath>

#include "gyre/core/error.h"

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

}  // namespace gyre
