// Wall-clock seconds, monotonic.
#pragma once

#include <chrono>

namespace gyre {

class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  // Seconds since the start or the last lap; begins the next lap.
  double lap() {
    const double s = seconds();
    start_ = Clock::now();
    return s;
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

}  // namespace gyre
