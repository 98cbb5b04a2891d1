// Options of the optimizer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gyre/core/kernels/kernels.h"
#include "gyre/core/option_list.h"
#include "gyre/train/optim/schedule.h"

namespace gyre {

// A number for the parameters whose names match a pattern with the wildcards * and ? (fnmatch).
struct PatternValue {
  std::string pattern;
  double value = 1;
};

struct OptimizerOptions {
  std::string kind = "adam";                         // one of update_rule_names()
  double beta1 = 0.9, beta2 = 0.98, epsilon = 1e-9;  // constants of Adam; lion uses the first two
  double momentum = 0.95;                            // momentum of Muon
  Precision precision = Precision::fp32;             // precision of Muon's products of matrices (update_rule.h)
  double weight_decay = 0;
  std::vector<PatternValue> decays;        // weight decay of parameters; the last pattern that matches counts
  std::vector<PatternValue> rate_factors;  // factors of the learning rate of parameters, likewise
  double layer_decay = 1;                  // factor of the learning rate from each layer to the one below it
  std::vector<std::string> frozen;         // patterns of parameters that are not trained
  double clip_norm = 0;                    // 0: no clipping
  double ema = 0;                          // decay of the moving average of the weights; 0: no average
  ScheduleOptions schedule;
  std::vector<RateStage> rate_stages;  // stages in order; before the first one, `schedule` holds

  void declare(OptionList& list);  // declares all options but those of the schedule
  void validate() const;           // throws UsageError
};

// The learning rate by the schedule of the stage that the update after n finished updates belongs to.
double learning_rate(const OptimizerOptions& options, uint64_t n);

inline OptimizerOptions in_precision(OptimizerOptions options, Precision precision) {
  options.precision = precision;
  return options;
}

}  // namespace gyre
