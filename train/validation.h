// The interface of validation, which computes metrics on held-out data.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"

namespace gyre {

// The output of the model for one validation sample, as text.
struct ValidationSample {
  std::string source, reference, output;
};

struct ValidationResult {
  double loss = 0;  // cross-entropy of a prediction, without label smoothing
  std::map<std::string, double> metrics;
  double seconds = 0;
  std::vector<ValidationSample> samples{};  // the first few, on rank 0 only; none if the validation makes no text
};

// Every metric that a validation may compute. Throws an Error for any other name, so that a new metric cannot make the
// worst checkpoint the best one. "cross-entropy/SET" is the cross-entropy of one of several validation sets.
inline bool higher_is_better(std::string_view metric_of_set) {
  constexpr std::pair<std::string_view, bool> kHigherIsBetter[] = {{"cross-entropy", false},
                                                                   {"perplexity", false},
                                                                   {"bits-per-byte", false},
                                                                   {"mean-squared-error", false},
                                                                   {"margin-loss", false},
                                                                   {"accuracy", true},
                                                                   {"f1", true},
                                                                   {"macro-f1", true},
                                                                   {"matthews", true},
                                                                   {"pearson", true},
                                                                   {"spearman", true},
                                                                   {"bleu", true},
                                                                   {"chrf", true}};
  const std::string_view metric = metric_of_set.substr(0, metric_of_set.find('/'));
  for (const auto& [name, higher] : kHigherIsBetter)
    if (name == metric) return higher;
  throw Error("[validation] higher_is_better() in train/validation.h lacks the metric ",
              quoted_for_message(std::string(metric)));
}

// The data and the options that determine the metrics besides the model, as text by name. If one of them changes,
// values before and after the change cannot be compared.
using ValidationBasis = std::map<std::string, std::string>;

class Validation {
 public:
  virtual ~Validation() = default;
  virtual ValidationBasis basis() const = 0;
  // Collective. All ranks get the same loss and metrics. The result does not depend on the number of ranks.
  virtual ValidationResult run() = 0;
};

}  // namespace gyre
