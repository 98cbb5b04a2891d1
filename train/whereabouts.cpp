#include "train/whereabouts.h"

#include <array>
#include <chrono>

#include "core/error.h"
#include "train/fault.h"

namespace gyre {
namespace {

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

const char* phase_name(Phase phase) {
  constexpr std::array names{"start",     "data",       "forward",    "backward", "reduction",
                             "optimizer", "validation", "checkpoint", "end"};
  return names[size_t(phase)];
}

bool takes_time(Phase phase) {
  return phase == Phase::start || phase == Phase::validation || phase == Phase::checkpoint;
}

std::string Moment::text() const {
  return concat(phase_name(phase), " of update ", update, " for ", int64_t(seconds), " s");
}

bool Whereabouts::enter(Phase phase, uint64_t update) {
  phase_ = phase;
  update_ = update;
  since_ = steady_seconds();
  return fault_point(phase_name(phase), update);
}

Moment Whereabouts::now() const { return {.update = update_, .seconds = steady_seconds() - since_, .phase = phase_}; }

}  // namespace gyre
