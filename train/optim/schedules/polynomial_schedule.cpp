// fairseq's polynomial_decay: min + (lr - min) ((total - n) / (total - W))^power, with W = warmup.
#include <cmath>

#include "gyre/train/optim/schedule.h"

namespace gyre {
namespace {

double rate(const ScheduleOptions& o, double n, double warmup) {
  const auto total = static_cast<double>(o.total_updates);
  return n >= total ? o.minimum_rate : rate_at(o, std::pow((total - n) / (total - warmup), o.power));
}

}  // namespace

Schedule polynomial_schedule() { return {.rate = rate, .needs_total_updates = true, .has_power = true}; }

}  // namespace gyre
