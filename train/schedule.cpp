#include "train/schedule.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace gyre {

namespace {

double rate_after_warmup(const OptimizerOptions& o, double n, double warmup) {
  if (o.schedule == "inverse-sqrt") {
    // fairseq's own order of operations: lr * sqrt(W) first.
    const double peak = std::max(warmup, 1.0);
    return o.learning_rate * std::sqrt(peak) / std::sqrt(std::max(n, peak));
  }
  if (o.schedule == "linear") {
    const auto total = static_cast<double>(o.total_updates);
    return n >= total ? 0 : o.learning_rate * (total - n) / (total - warmup);
  }
  require(o.schedule == "constant", "[schedule] expected inverse-sqrt, linear or constant, got '", o.schedule, "'");
  return o.learning_rate;
}

uint64_t updates_until(const Period& after, uint64_t updates_per_epoch) {
  return after.unit == Period::Unit::epochs ? after.amount * updates_per_epoch : after.amount;
}

}  // namespace

OptimizerOptions resolve_schedule(OptimizerOptions o, const Period& after, uint64_t updates_per_epoch) {
  if (o.schedule != "linear" && o.warmup_percent == 0) return o;
  if (o.total_updates == 0) o.total_updates = updates_until(after, updates_per_epoch);
  if (o.warmup_percent > 0) {
    o.warmup = uint64_t(std::llround(o.warmup_percent / 100 * double(o.total_updates)));
    o.warmup_percent = 0;
  }
  if (o.schedule == "linear" && o.warmup >= o.total_updates) {
    throw UsageError("[--lr-warmup] expected fewer than the ", o.total_updates, " updates of the run, got ", o.warmup);
  }
  return o;
}

double learning_rate(const OptimizerOptions& options, uint64_t n) {
  const auto done = static_cast<double>(n), warmup = static_cast<double>(options.warmup);
  if (n < options.warmup) {
    return options.warmup_initial + done * ((options.learning_rate - options.warmup_initial) / warmup);
  }
  return std::max(rate_after_warmup(options, done, warmup), options.minimum_rate);
}

}  // namespace gyre
