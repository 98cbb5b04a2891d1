#include "gyre/train/tasks/matching/match_options.h"

#include "gyre/core/option_checks.h"

namespace gyre {

MatchOptions::MatchOptions() : FineTuningOptions(6e-6) {
  data.max_length = 1024;
  batch.size = 4;
  optimizer.kind = "adam";
  optimizer.epsilon = 1e-6;
  optimizer.schedule.kind = "constant";
  optimizer.schedule.warmup = 0;
  stop.after = {20, Period::Unit::epochs};
  validation.metrics = {"accuracy"};
  validation.mini_batch = 8;
  head = "mean";
  classifier_dropout = 0;
}

void MatchOptions::validate() const {
  FineTuningOptions::validate();
  expect_one_of({"cross-entropy", "margin-loss"}, "--loss", objective.loss);
  expect_finite_at_least(0, "--margin", objective.margin);
  expect(swap >= 0 && swap <= 1, "--swap-texts", "a probability between 0 and 1", swap);
  for (const std::string& metric : validation.metrics)
    expect_one_of({"accuracy", objective.loss}, "--valid-metrics", metric);
}

}  // namespace gyre
