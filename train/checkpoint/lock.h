// A lock that admits one job per run directory.
#pragma once

#include "gyre/core/io/file.h"

namespace gyre {

// Holds run/.lock (flock) for the lifetime of the object. The kernel releases it when the process ends for any reason.
// If another process holds the lock, the constructor throws an Error that names that process and its host.
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
