// A linear fall to zero at total_updates: lr (total - n) / (total - W), with W = warmup.
#include "gyre/train/optim/schedule.h"

namespace gyre {
namespace {

double rate(const ScheduleOptions& options, double n, double warmup) {
  const auto total = static_cast<double>(options.total_updates);
  return n >= total ? 0 : options.learning_rate * (total - n) / (total - warmup);
}

}  // namespace

Schedule linear_schedule() { return {.rate = rate, .needs_total_updates = true}; }

}  // namespace gyre
