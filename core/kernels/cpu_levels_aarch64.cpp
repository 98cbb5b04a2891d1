// The instruction sets of 64-bit ARM for which CMake compiles the CPU kernels. All of these CPUs have NEON.
#include "gyre/core/hardware/cpu.h"
#include "gyre/core/kernels/kernels.h"

namespace gyre {

namespace cpu_armv8 {
Kernels& kernels();
}
namespace cpu_armv8_bf16 {
Kernels& kernels();
}

std::vector<Kernels*> available_cpu_kernels() {
  std::vector<Kernels*> all{&cpu_armv8::kernels()};
  if (cpu_has_bf16()) all.push_back(&cpu_armv8_bf16::kernels());
  return all;
}

}  // namespace gyre
