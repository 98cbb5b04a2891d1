// The peak learning rate after the warm-up.
#include "gyre/train/optim/schedule.h"

namespace gyre {
namespace {

double rate(const ScheduleOptions& options, double /*n*/, double /*warmup*/) { return options.learning_rate; }

}  // namespace

Schedule constant_schedule() { return {rate}; }

}  // namespace gyre
