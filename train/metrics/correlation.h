// Correlation metrics, equal to pearsonr and spearmanr of SciPy: -1..1, or NaN if either side is constant or contains a
// NaN. All functions throw an Error if the input is empty or the counts differ.
#pragma once

#include <span>
#include <string_view>

namespace gyre {

using Values = std::span<const double>;

// Pearson's r = sum (x - mean x)(y - mean y) / sqrt(sum (x - mean x)^2 sum (y - mean y)^2)
double pearson(Values predicted, Values actual);

// Pearson's r of the ranks. Equal values get the mean of their ranks.
double spearman(Values predicted, Values actual);

// Computes a metric by name: "pearson" or "spearman". Throws a UsageError for any other name.
double correlation_score(std::string_view metric, Values predicted, Values actual);

}  // namespace gyre
