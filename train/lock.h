// One job per run directory.
#pragma once

#include "core/file.h"

namespace gyre {

// Holds run/.lock (flock) for its lifetime; the kernel lets go when the process dies, however it dies. Throws when
// another process holds it, naming that process and its host.
class RunLock {
 public:
  explicit RunLock(const Path& run);
  ~RunLock();
  RunLock(RunLock&& other) noexcept;
  RunLock& operator=(RunLock&& other) noexcept;

 private:
  int descriptor_ = -1;
};

}  // namespace gyre
