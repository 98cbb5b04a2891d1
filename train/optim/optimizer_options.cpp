#include "gyre/train/optim/optimizer_options.h"

#include <algorithm>
#include <cmath>

#include "gyre/core/option_checks.h"
#include "gyre/train/optim/schedule.h"
#include "gyre/train/optim/update_rule.h"

namespace gyre {

bool ScheduleOptions::needs_total_updates() const {
  return find_schedule(kind).needs_total_updates || warmup_percent > 0;
}

void ScheduleOptions::validate() const {
  expect(std::isfinite(learning_rate) && learning_rate > 0, "--learn-rate", "a positive number", learning_rate);
  expect_finite_at_least(0, "--lr-warmup-start-rate", warmup_initial);
  const bool warms_up = warmup > 0 || warmup_percent > 0;
  expect(!warms_up || warmup_initial <= std::max(learning_rate, kDefaultWarmupInitial), "--lr-warmup-start-rate",
         concat("a number up to --learn-rate ", learning_rate, ", to which the warm-up rises"), warmup_initial);
  expect(minimum_rate >= 0 && minimum_rate <= learning_rate, "--lr-minimum",
         concat("a number from 0 to --learn-rate ", learning_rate), minimum_rate);
  expect(warmup_percent >= 0 && warmup_percent < 100, "--lr-warmup", "a percentage of at least 0% and below 100%",
         concat(warmup_percent, "%"));
  expect(std::isfinite(power) && power > 0, "--lr-power", "a positive number", power);
  expect(cooldown_percent >= 0 && cooldown_percent <= 100, "--lr-cooldown", "a percentage from 0% to 100%",
         concat(cooldown_percent, "%"));
  expect(!needs_total_updates() || total_updates == 0 || warmup_percent > 0 || total_updates > warmup,
         "--total-updates", concat("more than the ", warmup, " updates of --lr-warmup with --lr-schedule ", kind),
         total_updates);
}

void OptimizerOptions::validate() const {
  make_update_rule(*this);  // checks the options of the rule
  schedule.validate();
  for (const RateStage& stage : rate_stages) stage.schedule.validate();
  expect_finite_at_least(0, "--weight-decay", weight_decay);
  for (const PatternValue& of : decays) expect_finite_at_least(0, concat("--decay-for ", of.pattern), of.value);
  for (const PatternValue& of : rate_factors) expect_finite_at_least(0, concat("--rate-for ", of.pattern), of.value);
  expect(layer_decay > 0 && layer_decay <= 1, "--layer-decay", "a number above 0, at most 1", layer_decay);
  expect_finite_at_least(0, "--clip-norm", clip_norm);
  expect_fraction("--ema", ema);
}

}  // namespace gyre
