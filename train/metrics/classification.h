// How well predicted classes fit the true ones, equal to scikit-learn: accuracy_score, f1_score and matthews_corrcoef.
// A class is any number. All throw when there is nothing to score or the counts differ.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace gyre {

using Classes = std::span<const int32_t>;

// The share of right predictions, 0..1.
double accuracy(Classes predicted, Classes actual);

// F1 = 2 TP / (2 TP + FP + FN) of class 1 against all others, 0..1; 0 where class 1 is neither predicted nor true.
double f1(Classes predicted, Classes actual);

// The mean of F1 over the classes that are predicted or true somewhere.
double macro_f1(Classes predicted, Classes actual);

// Matthews' correlation for any number of classes (Gorodkin, 2004), -1..1. With n rows, c of them right, and p_k and
// t_k the times that class k is predicted and true:
//   (c n - sum_k p_k t_k) / sqrt((n^2 - sum_k p_k^2) (n^2 - sum_k t_k^2));  0 where either side has a single class.
double matthews_correlation(Classes predicted, Classes actual);

// By name: "accuracy", "f1", "macro-f1" or "matthews"; another name is a UsageError.
double classification_score(std::string_view metric, Classes predicted, Classes actual);

}  // namespace gyre
