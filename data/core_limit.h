// Keeps the threads of a library within a number of cores, where the library's own number of threads is part of its
// result.
#pragma once

#include <sched.h>

namespace gyre {

// Threads begun by this thread while the limit lives run on at most `count` of the cores that it may use; so does this
// thread. Where the system refuses, nothing is limited.
class CoreLimit {
 public:
  explicit CoreLimit(int count) {
    if (sched_getaffinity(0, sizeof before_, &before_) != 0 || CPU_COUNT(&before_) <= count) return;
    cpu_set_t chosen;
    CPU_ZERO(&chosen);
    // From the present core on, so that two limited programs seldom meet.
    const int here = sched_getcpu();
    for (int core = here < 0 ? 0 : here; CPU_COUNT(&chosen) < count; core = (core + 1) % CPU_SETSIZE) {
      if (CPU_ISSET(core, &before_)) CPU_SET(core, &chosen);
    }
    is_set_ = sched_setaffinity(0, sizeof chosen, &chosen) == 0;
  }
  ~CoreLimit() {
    if (is_set_) sched_setaffinity(0, sizeof before_, &before_);
  }
  CoreLimit(const CoreLimit&) = delete;
  CoreLimit& operator=(const CoreLimit&) = delete;

 private:
  cpu_set_t before_{};
  bool is_set_ = false;
};

}  // namespace gyre
