// The instruction sets of x86-64 for which CMake compiles the CPU kernels.
#include "gyre/core/error.h"
#include "gyre/core/kernels/kernels.h"

namespace gyre {

namespace cpu_v3 {
Kernels& kernels();
}
namespace cpu_v4 {
Kernels& kernels();
}

std::vector<Kernels*> available_cpu_kernels() {
  std::vector<Kernels*> all;
  if (__builtin_cpu_supports("x86-64-v3")) all.push_back(&cpu_v3::kernels());
  if (__builtin_cpu_supports("x86-64-v4")) all.push_back(&cpu_v4::kernels());
  require(
      !all.empty(),
      "[cpu kernels] this CPU has no AVX2 with fused multiply-add (x86-64-v3), which Gyre needs: Intel has it since "
      "2013 (Haswell), AMD since 2015 (Excavator)");
  return all;
}

}  // namespace gyre
