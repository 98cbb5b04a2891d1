#include "gyre/train/parallel/health/rank_status.h"

#include <chrono>

#include "gyre/core/error.h"

namespace gyre {
namespace {

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

const char* phase_name(Phase phase) { return kPhaseNames.at(size_t(phase)); }

bool may_take_long(Phase phase) {
  return phase == Phase::start || phase == Phase::validation || phase == Phase::checkpoint;
}

std::string StatusSnapshot::text() const {
  return concat(phase_name(phase), " of update ", update, " for ", int64_t(seconds), " s");
}

void RankStatus::enter(Phase phase, uint64_t update) {
  phase_ = phase;
  update_ = update;
  since_ = steady_seconds();
  if (observer_) observer_(phase, update);
}

StatusSnapshot RankStatus::now() const {
  return {.update = update_, .seconds = steady_seconds() - since_, .phase = phase_};
}

}  // namespace gyre
