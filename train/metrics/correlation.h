// How well predicted numbers follow the true ones, equal to SciPy: pearsonr and spearmanr. -1..1; NaN where either side
// is constant or holds a NaN. Both throw when there is nothing to score or the counts differ.
#pragma once

#include <span>
#include <string_view>

namespace gyre {

using Values = std::span<const double>;

// sum (x - mean x)(y - mean y) / sqrt(sum (x - mean x)^2 sum (y - mean y)^2)
double pearson(Values predicted, Values actual);

// Pearson's correlation of the ranks; equal values share the mean of their ranks.
double spearman(Values predicted, Values actual);

// By name: "pearson" or "spearman"; another name is a UsageError.
double correlation_score(std::string_view metric, Values predicted, Values actual);

}  // namespace gyre
