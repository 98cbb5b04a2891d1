#include "gyre/train/parallel/stop_signal.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

namespace gyre {

namespace {

std::atomic<int> raised_signal = 0, sender = 0;  // set in a handler, read by any thread
std::atomic<bool> logs_to_terminal = false;
static_assert(std::atomic<int>::is_always_lock_free);

void remember(int signal, siginfo_t* info, void* /*context*/) {
  if (raised_signal != 0 && signal == SIGINT) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);  // takes effect when this handler returns
    return;
  }
  if (signal == SIGCONT) {
    if (info->si_code > 0 || info->si_pid != getppid()) return;
    signal = SIGTERM;
  }
  // The log tells of the signal when the update has been computed, which may take long.
  constexpr std::string_view kNotice = "\nCtrl-C: saving after this update; press it again to end at once\n";
  if (signal == SIGINT && logs_to_terminal) {
    const int error = errno;
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kNotice.data(), kNotice.size());
    errno = error;
  }
  sender = info->si_code <= 0 ? info->si_pid : 0;  // 0: the kernel, such as for SIGXCPU
  raised_signal = signal;
}

// mpirun sends SIGCONT for another reason only if it is to forward job control.
bool is_child_of_mpirun() {
  if (std::getenv("OMPI_COMM_WORLD_SIZE") == nullptr) return false;
  if (std::getenv("OMPI_MCA_orte_forward_job_control") != nullptr) return false;
  std::string name;
  std::ifstream("/proc/" + std::to_string(getppid()) + "/comm") >> name;
  constexpr std::array kLaunchers{"mpirun", "mpiexec", "orterun", "orted", "prterun", "prted"};
  return std::find(kLaunchers.begin(), kLaunchers.end(), name) != kLaunchers.end();
}

}  // namespace

StopSignal::StopSignal() {
  raised_signal = 0;
  logs_to_terminal = isatty(STDERR_FILENO) != 0;
  struct sigaction action {};
  action.sa_sigaction = remember;
  action.sa_flags = SA_RESTART | SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < kSignals.size(); ++i) {
    const int signal = kSignals[i].number;
    sigaction(signal, nullptr, &before_[i]);
    const bool stays_ignored = signal == SIGHUP && before_[i].sa_handler == SIG_IGN;
    if (!stays_ignored) sigaction(signal, &action, nullptr);
  }
  sigaction(SIGCONT, nullptr, &continue_before_);
  if (is_child_of_mpirun()) sigaction(SIGCONT, &action, nullptr);
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, &pipe_before_);
}

StopSignal::~StopSignal() {
  for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i].number, &before_[i], nullptr);
  sigaction(SIGCONT, &continue_before_, nullptr);
  sigaction(SIGPIPE, &pipe_before_, nullptr);
}

const char* StopSignal::raised() {
  const int signal = raised_signal;
  const auto* const found =
      std::find_if(kSignals.begin(), kSignals.end(), [signal](const Signal& of) { return of.number == signal; });
  return found == kSignals.end() ? nullptr : found->name;
}

bool StopSignal::sent_by_parent() { return sender == getppid(); }

}  // namespace gyre
