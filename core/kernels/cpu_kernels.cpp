// Selects the CPU kernels at run time, from those that cpu_levels_x86_64.cpp or cpu_levels_aarch64.cpp lists. Also sets
// the number of threads and the bf16 emulation.
#include <omp.h>

#include <algorithm>

#include "gyre/core/error.h"
#include "gyre/core/kernels/kernels.h"
#include "gyre/core/sizes.h"

namespace gyre {

Kernels& cpu_kernels() {
  static Kernels& best = *available_cpu_kernels().back();
  return best;
}

namespace {
bool bf16_is_emulated = false;
}

void emulate_bf16(bool on) { bf16_is_emulated = on; }
bool emulates_bf16() { return bf16_is_emulated; }

void set_threads(int n) {
  if (n < 1 || n > kMaxThreads) throw UsageError("[--cpu-threads] expected 1 to ", kMaxThreads, ", got ", n);
  omp_set_dynamic(0);  // OMP_DYNAMIC would start fewer threads on a busy machine
  omp_set_num_threads(std::min(n, omp_get_thread_limit()));
}

int threads() { return omp_get_max_threads(); }

}  // namespace gyre
