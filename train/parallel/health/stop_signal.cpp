#include "gyre/train/parallel/health/stop_signal.h"

#include <atomic>

namespace gyre {
namespace {

std::atomic<int> raised_signal = 0;  // set in a handler, read by any thread
static_assert(std::atomic<int>::is_always_lock_free);

void remember(int signal) {
  if (raised_signal != 0 && signal == SIGINT) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
  raised_signal = signal;
}

}  // namespace

StopSignal::StopSignal() {
  raised_signal = 0;
  struct sigaction action {};
  action.sa_handler = remember;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &action, &before_[i]);
}

StopSignal::~StopSignal() {
  for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
}

const char* StopSignal::raised() {
  switch (raised_signal) {
    case 0:
      return nullptr;
    case SIGINT:
      return "SIGINT";
    case SIGUSR1:
      return "SIGUSR1";
    default:
      return "SIGTERM";
  }
}

}  // namespace gyre
