// Half a cosine from the peak to the minimum rate at total_updates (Loshchilov & Hutter 2017, without restarts):
//   min + (lr - min) (1 + cos(pi t)) / 2, with t = (n - W) / (total - W) and W = warmup
#include "gyre/train/optim/schedule.h"

namespace gyre {
namespace {

double rate(const ScheduleOptions& o, double n, double warmup) {
  const auto total = static_cast<double>(o.total_updates);
  return n >= total ? o.minimum_rate : rate_at(o, half_cosine((n - warmup) / (total - warmup)));
}

}  // namespace

Schedule cosine_schedule() { return {.rate = rate, .needs_total_updates = true}; }

}  // namespace gyre
