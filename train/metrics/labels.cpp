#include "gyre/train/metrics/labels.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <numeric>
#include <string_view>
#include <vector>

#include "gyre/core/error.h"

namespace gyre {

namespace {

// Throws an Error if there are no predictions, or if the numbers of predictions and labels differ.
void require_paired(std::string_view metric, size_t predictions, size_t labels) {
  require(predictions > 0, "[", metric, "] expected at least one prediction, got none");
  require(predictions == labels, "[", metric, "] expected as many labels as predictions, got ", predictions,
          " predictions and ", labels, " labels");
}

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

namespace {

constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

// Compares the values, because rounding may make the deviations of a constant from its mean nonzero.
bool is_constant(Values values) {
  return std::all_of(values.begin(), values.end(), [&](double v) { return v == values.front(); });
}

bool has_nan(Values values) {
  return std::any_of(values.begin(), values.end(), [](double v) { return std::isnan(v); });
}

// Deviations from the mean, scaled to a maximum of 1, so that no square overflows or underflows.
std::vector<double> scaled_deviations(Values values) {
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / double(values.size());
  double largest = 0;
  for (const double v : values) largest = std::max(largest, std::abs(v - mean));
  std::vector<double> deviations;
  deviations.reserve(values.size());
  for (const double v : values) deviations.push_back((v - mean) / largest);
  return deviations;
}

double dot(Values x, Values y) { return std::inner_product(x.begin(), x.end(), y.begin(), 0.0); }

double correlate(Values x, Values y) {
  if (is_constant(x) || is_constant(y)) return kUndefined;
  const std::vector<double> dx = scaled_deviations(x), dy = scaled_deviations(y);
  return std::clamp(dot(dx, dy) / std::sqrt(dot(dx, dx) * dot(dy, dy)), -1.0, 1.0);
}

// Ranks from 1. Equal values get the mean of their ranks.
std::vector<double> ranks_of(Values values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    for (size_t i = begin; i < end; ++i) ranks[order[i]] = double(begin + 1 + end) / 2;
  }
  return ranks;
}

}  // namespace

double pearson(Values predicted, Values actual) {
  require_paired("pearson", predicted.size(), actual.size());
  return correlate(predicted, actual);
}

double spearman(Values predicted, Values actual) {
  require_paired("spearman", predicted.size(), actual.size());
  if (has_nan(predicted) || has_nan(actual)) return kUndefined;  // NaN has no rank
  return correlate(ranks_of(predicted), ranks_of(actual));
}

double correlation_score(std::string_view metric, Values predicted, Values actual) {
  if (metric == "pearson") return pearson(predicted, actual);
  if (metric == "spearman") return spearman(predicted, actual);
  throw UsageError("[metrics] correlation: expected pearson or spearman, got ", metric);
}

}  // namespace gyre
