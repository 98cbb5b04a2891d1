#include "gyre/train/metrics/classification.h"

#include <cmath>
#include <map>

#include "gyre/train/metrics/paired_values.h"

namespace gyre {

namespace {

struct ClassCounts {
  int64_t predicted = 0, actual = 0, both = 0;
};

std::map<int32_t, ClassCounts> count_classes(Classes predicted, Classes actual) {
  std::map<int32_t, ClassCounts> counts;
  for (size_t i = 0; i < predicted.size(); ++i) {
    ++counts[predicted[i]].predicted;
    ++counts[actual[i]].actual;
    if (predicted[i] == actual[i]) ++counts[actual[i]].both;
  }
  return counts;
}

// 2 TP + FP + FN is the number of predicted rows plus the number of true rows of the class.
double f1_of(const ClassCounts& counts) {
  const int64_t total = counts.predicted + counts.actual;
  return total == 0 ? 0 : 2 * double(counts.both) / double(total);
}

}  // namespace

double accuracy(Classes predicted, Classes actual) {
  require_paired("accuracy", predicted.size(), actual.size());
  size_t right = 0;
  for (size_t i = 0; i < predicted.size(); ++i) right += predicted[i] == actual[i];
  return double(right) / double(predicted.size());
}

double f1(Classes predicted, Classes actual) {
  require_paired("f1", predicted.size(), actual.size());
  return f1_of(count_classes(predicted, actual)[1]);
}

double macro_f1(Classes predicted, Classes actual) {
  require_paired("macro-f1", predicted.size(), actual.size());
  const auto counts = count_classes(predicted, actual);
  double sum = 0;
  for (const auto& [label, of_class] : counts) sum += f1_of(of_class);
  return sum / double(counts.size());
}

double matthews_correlation(Classes predicted, Classes actual) {
  require_paired("matthews", predicted.size(), actual.size());
  const auto n = double(predicted.size());
  double covariance = 0, predicted_variance = n * n, actual_variance = n * n;
  for (const auto& [label, of_class] : count_classes(predicted, actual)) {
    const auto p = double(of_class.predicted), t = double(of_class.actual);
    covariance += double(of_class.both) * n - p * t;
    predicted_variance -= p * p;
    actual_variance -= t * t;
  }
  if (predicted_variance == 0 || actual_variance == 0) return 0;
  return covariance / std::sqrt(predicted_variance * actual_variance);
}

double classification_score(std::string_view metric, Classes predicted, Classes actual) {
  if (metric == "accuracy") return accuracy(predicted, actual);
  if (metric == "f1") return f1(predicted, actual);
  if (metric == "macro-f1") return macro_f1(predicted, actual);
  if (metric == "matthews") return matthews_correlation(predicted, actual);
  throw UsageError("[metrics] classification: expected accuracy, f1, macro-f1 or matthews, got ", metric);
}

}  // namespace gyre
