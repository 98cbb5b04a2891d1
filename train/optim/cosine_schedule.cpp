// Half a cosine from the peak to the minimum rate at total_updates (Loshchilov & Hutter 2017, without restarts):
//   min + (lr - min) (1 + cos(pi t)) / 2, with t = (n - W) / (total - W) and W = warmup
#include <cmath>
#include <numbers>

#include "gyre/train/optim/schedule.h"

namespace gyre {
namespace {

double rate(const ScheduleOptions& o, double n, double warmup) {
  const auto total = static_cast<double>(o.total_updates);
  if (n >= total) return o.minimum_rate;
  const double t = (n - warmup) / (total - warmup);
  return o.minimum_rate + (o.learning_rate - o.minimum_rate) * (1 + std::cos(std::numbers::pi * t)) / 2;
}

}  // namespace

Schedule cosine_schedule() { return {.rate = rate, .needs_total_updates = true}; }

}  // namespace gyre
