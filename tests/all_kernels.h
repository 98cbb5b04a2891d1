// The kernels that tests compare on this machine: those of each supported CPU level and of the first GPU.
#pragma once

#include <vector>

#include "gyre/core/kernels/kernels.h"
#include "tests/gpu.h"

namespace gyre {

inline std::vector<Kernels*> all_kernels() {
  std::vector<Kernels*> all = available_cpu_kernels();
  if (Kernels* gpu = test_gpu()) all.push_back(gpu);
  return all;
}

}  // namespace gyre
