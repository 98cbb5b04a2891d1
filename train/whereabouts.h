// What a rank is at: told to ranks that it keeps waiting, and the points at which tests make it fail (train/fault.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace gyre {

enum class Phase : uint8_t { start, data, forward, backward, reduction, optimizer, validation, checkpoint, end };
// "reading data", "forward": completes "rank 2 is in ...".
const char* phase_name(Phase phase);
// Whether a phase may well take longer than a step: what happens between steps, on one rank alone.
bool takes_time(Phase phase);

// A moment of a rank, in a form that can be sent.
struct Moment {
  uint64_t update = 0;  // the number of the update that is being made, from 1
  double seconds = 0;   // in this phase
  Phase phase = Phase::start;
  std::string text() const;  // "backward of update 12 for 61 s"
};

// Written by the rank's main thread, read by any.
class Whereabouts {
 public:
  // True when a test asks for NaN here (train/fault.h).
  bool enter(Phase phase, uint64_t update);
  Moment now() const;

 private:
  std::atomic<Phase> phase_{Phase::start};
  std::atomic<uint64_t> update_{0};
  std::atomic<double> since_{0};
};

}  // namespace gyre
