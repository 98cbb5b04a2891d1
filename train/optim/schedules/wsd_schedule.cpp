// Warm-up, stable, decay: the peak rate until a cooldown of the last C updates, which falls to the minimum rate (Hu et
// al. 2024, MiniCPM; the form 1 - sqrt: Haegele et al. 2024, arXiv 2405.18392):
//   n < total - C:   lr
//   otherwise:       min + (lr - min) decay(x), with x = (n - (total - C)) / C
//   decay(x):        1 - sqrt(x), 1 - x, or (1 + cos(pi x)) / 2
// Without a cooldown, C = 0, the rate stays at its peak.
#include <cmath>

#include "gyre/train/optim/schedule.h"

namespace gyre {
namespace {

double decay(CooldownForm form, double x) {
  switch (form) {
    case CooldownForm::sqrt:
      return 1 - std::sqrt(x);
    case CooldownForm::linear:
      return 1 - x;
    case CooldownForm::cosine:
      return half_cosine(x);
  }
  return 0;
}

double rate(const ScheduleOptions& o, double n, double /*warmup*/) {
  const auto total = static_cast<double>(o.total_updates), cooldown = static_cast<double>(cooldown_updates(o));
  const double begin = total - cooldown;
  if (n <= begin || cooldown == 0) return o.learning_rate;
  if (n >= total) return o.minimum_rate;
  return rate_at(o, decay(o.cooldown_form, (n - begin) / cooldown));
}

}  // namespace

Schedule wsd_schedule() { return {.rate = rate, .needs_total_updates = true, .has_cooldown = true}; }

}  // namespace gyre
