// The kernels that a test compares on this machine: of each CPU level that it has, and of its first GPU.
#pragma once

#include <vector>

#include "core/kernels.h"
#include "tests/gpu.h"

namespace gyre {

inline std::vector<Kernels*> all_kernels() {
  std::vector<Kernels*> all = available_cpu_kernels();
  if (Kernels* gpu = test_gpu()) all.push_back(gpu);
  return all;
}

}  // namespace gyre
