#include "tools/options/computing_options.h"

#include "gyre/core/hardware/cores.h"
#include "gyre/core/kernels/kernels.h"
#include "gyre/core/option_checks.h"

namespace gyre {

void CpuThreads::use() const {
  expect_at_least(0, "--cpu-threads", threads_);
  if (threads_ > 0) set_threads(threads_);
}

void CpuThreads::use(int cores) const {
  expect_at_least(0, "--cpu-threads", threads_);
  set_threads(choose_threads(threads_, cores).threads);
}

}  // namespace gyre
