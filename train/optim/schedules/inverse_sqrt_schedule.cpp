// fairseq's inverse square root: lr sqrt(W) / sqrt(n), with W = max(warmup, 1).
#include <algorithm>
#include <cmath>

#include "gyre/train/optim/schedule.h"

namespace gyre {
namespace {

double rate(const ScheduleOptions& options, double n, double warmup) {
  const double peak = std::max(warmup, 1.0);
  // fairseq's order of operations: lr * sqrt(W) first.
  return options.learning_rate * std::sqrt(peak) / std::sqrt(std::max(n, peak));
}

}  // namespace

Schedule inverse_sqrt_schedule() { return {rate}; }

}  // namespace gyre
