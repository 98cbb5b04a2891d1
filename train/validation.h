// The interface of validation, which computes metrics on held-out data.
#pragma once

#include <map>
#include <string>
#include <vector>

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

// "cross-entropy/SET" is the cross-entropy of one of several validation sets.
inline bool higher_is_better(const std::string& metric_of_set) {
  const std::string metric = metric_of_set.substr(0, metric_of_set.find('/'));
  return metric != "cross-entropy" && metric != "perplexity" && metric != "bits-per-byte" &&
         metric != "mean-squared-error" && metric != "margin-loss";
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
