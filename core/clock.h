// The time by a clock that never goes back.
#pragma once

#include <chrono>

namespace gyre {

// Seconds of std::chrono::steady_clock, which begins at an unknown time in the past.
inline double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

class Stopwatch {
 public:
  double seconds() const { return steady_seconds() - start_; }
  // Returns the seconds since the start or the last lap, and begins the next lap.
  double lap() {
    const double s = seconds();
    start_ += s;
    return s;
  }

 private:
  double start_ = steady_seconds();
};

}  // namespace gyre
