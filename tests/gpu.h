// Selects the GPU for tests.
#pragma once

#include "gyre/core/hardware/cuda.h"
#include "tests/report.h"

// Returns the kernels of the first GPU. If there is none, returns null and reports the test case as skipped.
inline gyre::Kernels* test_gpu() {
  if (gyre::cuda_devices() > 0) return &gyre::cuda_kernels(0);
  report_skipped("no GPU (CUDA: " + gyre::cuda_description() + ")");
  return nullptr;
}
