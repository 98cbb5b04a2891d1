// Limits the cores that the threads of a library use. For libraries whose number of threads affects their result, so
// that it must stay fixed.
#pragma once

#include <sched.h>

namespace gyre {

// While this object exists, this thread and the threads that it starts run on at most `count` of the cores available to
// it. Has no effect if the affinity cannot be set.
class CoreLimit {
 public:
  explicit CoreLimit(int count) {
    if (sched_getaffinity(0, sizeof before_, &before_) != 0 || CPU_COUNT(&before_) <= count) return;
    cpu_set_t chosen;
    CPU_ZERO(&chosen);
    // Start at the current core, so that two limited programs rarely use the same cores.
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
