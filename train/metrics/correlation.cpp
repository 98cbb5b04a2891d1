#include "gyre/train/metrics/correlation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "gyre/train/metrics/paired_values.h"

namespace gyre {

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
