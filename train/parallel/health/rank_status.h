// The current phase of a rank. Ranks that wait for this one report it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

namespace gyre {

enum class Phase : uint8_t { start, data, forward, backward, reduction, optimizer, validation, checkpoint, end };
inline constexpr std::array kPhaseNames{"start",     "data",       "forward",    "backward", "reduction",
                                        "optimizer", "validation", "checkpoint", "end"};
// "data", "forward": completes "rank 2 is in ...".
const char* phase_name(Phase phase);
// Whether a phase can take longer than a step: the phases outside of updates, in which one rank may work alone.
bool may_take_long(Phase phase);

// The status of a rank at one moment, in a form that can be sent.
struct StatusSnapshot {
  uint64_t update = 0;  // the number of the current update, from 1
  double seconds = 0;   // time since the rank entered the phase
  Phase phase = Phase::start;
  std::string text() const;  // "backward of update 12 for 61 s"
};

using PhaseObserver = std::function<void(Phase phase, uint64_t update)>;

// Written by the rank's main thread, read by any thread.
class RankStatus {
 public:
  // Calls the observer after the status has changed; what the observer throws passes through.
  void enter(Phase phase, uint64_t update);
  void observe(PhaseObserver observer) { observer_ = std::move(observer); }
  StatusSnapshot now() const;

 private:
  std::atomic<Phase> phase_{Phase::start};
  std::atomic<uint64_t> update_{0};
  std::atomic<double> since_{0};
  PhaseObserver observer_;
};

}  // namespace gyre
