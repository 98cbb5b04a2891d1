#include "tools/cpu_threads.h"

#include "core/error.h"
#include "core/kernels.h"

namespace gyre {

void CpuThreads::use() const {
  if (threads_ < 0) throw UsageError("--cpu-threads: expected at least 0, got ", threads_);
  if (threads_ > 0) set_threads(threads_);
}

void CpuThreads::use(int cores) const {
  set_threads(cores);
  use();
}

}  // namespace gyre
