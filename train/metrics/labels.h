// Metrics of predictions and labels. All functions throw an Error if the input is empty or the counts differ.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace gyre {

// Classification metrics, equal to accuracy_score, f1_score and matthews_corrcoef of scikit-learn. A class is any
// number.
using Classes = std::span<const int32_t>;

// The fraction of correct predictions, 0..1.
double accuracy(Classes predicted, Classes actual);

// F1 = 2 TP / (2 TP + FP + FN) of class 1 against all others, 0..1; 0 if class 1 is neither predicted nor true.
double f1(Classes predicted, Classes actual);

// The mean of F1 over all classes that occur in either input.
double macro_f1(Classes predicted, Classes actual);

// Matthews correlation coefficient for any number of classes (Gorodkin, 2004), -1..1:
//   (c n - sum_k p_k t_k) / sqrt((n^2 - sum_k p_k^2) (n^2 - sum_k t_k^2)),
// where n is the number of rows, c the number of correct ones, and p_k and t_k count the rows with predicted and true
// class k. It is 0 if either side has a single class.
double matthews_correlation(Classes predicted, Classes actual);

// Computes a metric by name: "accuracy", "f1", "macro-f1" or "matthews". Throws a UsageError for any other name.
double classification_score(std::string_view metric, Classes predicted, Classes actual);

// Correlation metrics, equal to pearsonr and spearmanr of SciPy: -1..1, or NaN if either side is constant or contains a
// NaN.
using Values = std::span<const double>;

// Pearson's r = sum (x - mean x)(y - mean y) / sqrt(sum (x - mean x)^2 sum (y - mean y)^2)
double pearson(Values predicted, Values actual);

// Pearson's r of the ranks. Equal values get the mean of their ranks.
double spearman(Values predicted, Values actual);

// Computes a metric by name: "pearson" or "spearman". Throws a UsageError for any other name.
double correlation_score(std::string_view metric, Values predicted, Values actual);

}  // namespace gyre
