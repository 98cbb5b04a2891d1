#include "gyre/train/tasks/classification/scores.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "gyre/train/metrics/classification.h"
#include "gyre/train/metrics/correlation.h"

namespace gyre {
namespace {

double cross_entropy_of(const Predictions& predictions, std::span<const int32_t> labels) {
  double sum = 0;
  for (size_t row = 0; row < labels.size(); ++row) {
    const std::span<const double> logits = predictions.row(row);
    const double most = *std::max_element(logits.begin(), logits.end());
    double total = 0;
    for (const double x : logits) total += std::exp(x - most);
    sum += most + std::log(total) - logits[size_t(labels[row])];
  }
  return sum / double(labels.size());
}

double mean_squared_error(const Predictions& predictions, std::span<const float> scores) {
  double sum = 0;
  for (size_t row = 0; row < scores.size(); ++row) {
    const double difference = predictions.outputs[row] - double(scores[row]);
    sum += difference * difference;
  }
  return sum / double(scores.size());
}

}  // namespace

double score(std::string_view metric, const Predictions& predictions, const LabeledIds& rows) {
  if (!rows.is_regression()) {
    if (metric == "cross-entropy") return cross_entropy_of(predictions, rows.labels());
    return classification_score(metric, predictions.classes(), rows.labels());
  }
  if (metric == "mean-squared-error") return mean_squared_error(predictions, rows.scores());
  const std::vector<double> actual(rows.scores().begin(), rows.scores().end());
  return correlation_score(metric, predictions.outputs, actual);
}

}  // namespace gyre
