// Selects the CPU kernels at run time. Also sets the number of threads and the bf16 emulation.
#include <omp.h>

#include "gyre/core/error.h"
#include "gyre/core/kernels/kernels.h"
#include "gyre/core/sizes.h"

namespace gyre {

namespace cpu_v2 {
Kernels& kernels();
}
namespace cpu_v3 {
Kernels& kernels();
}
namespace cpu_v4 {
Kernels& kernels();
}

std::vector<Kernels*> available_cpu_kernels() {
  std::vector<Kernels*> all;
  if (__builtin_cpu_supports("x86-64-v2")) all.push_back(&cpu_v2::kernels());
  if (__builtin_cpu_supports("x86-64-v3")) all.push_back(&cpu_v3::kernels());
  if (__builtin_cpu_supports("x86-64-v4")) all.push_back(&cpu_v4::kernels());
  require(!all.empty(), "[cpu kernels] this CPU lacks SSE4.2 (x86-64-v2)");
  return all;
}

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
  omp_set_num_threads(n);
}

int threads() { return omp_get_max_threads(); }

}  // namespace gyre
