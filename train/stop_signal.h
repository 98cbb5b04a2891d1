// A polite request to end: SIGTERM, SIGINT (Ctrl-C) or SIGUSR1 (which mpirun and Slurm can send ahead of the end) asks
// the loop to save and leave at the next update; while the data are still being read, after the first one. A second
// SIGINT ends the process at once.
#pragma once

#include <array>
#include <csignal>

namespace gyre {

// While it lives, the signals set a flag. One at a time.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;
  static const char* raised();  // the name of the signal that came since the last one was made, or none

 private:
  static constexpr std::array kSignals{SIGTERM, SIGINT, SIGUSR1};
  std::array<struct sigaction, kSignals.size()> before_{};
};

}  // namespace gyre
