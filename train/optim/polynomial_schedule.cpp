// fairseq's polynomial_decay: min + (lr - min) ((total - n) / (total - W))^power, with W = warmup.
#include <cmath>

#include "gyre/train/optim/schedule.h"

namespace gyre {
namespace {

double rate(const ScheduleOptions& o, double n, double warmup) {
  const auto total = static_cast<double>(o.total_updates);
  if (n >= total) return o.minimum_rate;
  const double remaining = (total - n) / (total - warmup);
  return o.minimum_rate + (o.learning_rate - o.minimum_rate) * std::pow(remaining, o.power);
}

}  // namespace

Schedule polynomial_schedule() { return {.rate = rate, .needs_total_updates = true}; }

}  // namespace gyre
