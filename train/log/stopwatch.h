// A stopwatch on the monotonic clock.
#pragma once

#include <chrono>

namespace gyre {

class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  // Returns the seconds since the start or the last lap, and begins the next lap.
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
