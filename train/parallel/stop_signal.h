// Graceful shutdown: on a signal that asks a process to end, the training loop saves a checkpoint and exits after the
// current update. While data are still being read, this is after the first update. A SIGINT (Ctrl-C) after another
// signal ends the process at once.
#pragma once

#include <array>
#include <csignal>

namespace gyre {

// During the lifetime of this object the signals set a flag. SIGHUP stays ignored if it was, as under nohup. SIGPIPE is
// ignored: on Ctrl-C, the program that reads the log (gyre train | tee log) ends first. If Open MPI's mpirun is to end,
// it sends its ranks SIGCONT, a second later SIGTERM, and a second later SIGKILL (odls_base_sigkill_timeout): from it,
// SIGCONT counts as SIGTERM. At most one object may exist at a time.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;
  // The name of the signal received since the last StopSignal was constructed, or nullptr.
  static const char* raised();
  // Whether the parent process sent that signal: that of a rank is mpirun.
  static bool sent_by_parent();

 private:
  struct Signal {
    int number;
    const char* name;
  };
  // mpirun and Slurm can send SIGUSR1 before the time limit; PBS, LSF and Grid Engine send SIGUSR2 or SIGXCPU; SIGHUP
  // comes when a terminal is closed.
  static constexpr std::array kSignals{Signal{SIGTERM, "SIGTERM"}, Signal{SIGINT, "SIGINT"},
                                       Signal{SIGUSR1, "SIGUSR1"}, Signal{SIGUSR2, "SIGUSR2"},
                                       Signal{SIGHUP, "SIGHUP"},   Signal{SIGXCPU, "SIGXCPU"}};
  std::array<struct sigaction, kSignals.size()> before_{};
  struct sigaction pipe_before_ {
  }, continue_before_{};
};

}  // namespace gyre
