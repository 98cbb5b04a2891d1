// Graceful shutdown: on SIGTERM, SIGINT (Ctrl-C) or SIGUSR1 (which mpirun and Slurm can send before the time limit) the
// training loop saves a checkpoint and exits after the current update. While data are still being read, this is after
// the first update. A second SIGINT ends the process at once.
#pragma once

#include <array>
#include <csignal>

namespace gyre {

// During the lifetime of this object the signals set a flag. At most one object may exist at a time.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;
  // The name of the signal received since the last StopSignal was constructed, or nullptr.
  static const char* raised();

 private:
  static constexpr std::array kSignals{SIGTERM, SIGINT, SIGUSR1};
  std::array<struct sigaction, kSignals.size()> before_{};
};

}  // namespace gyre
