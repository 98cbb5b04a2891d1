// The GPU that tests use.
#pragma once

#include "core/cuda.h"
#include "tests/report.h"

// The kernels of the first GPU; null where there is none, and the test case is reported as skipped.
inline gyre::Kernels* test_gpu() {
  if (gyre::cuda_devices() > 0) return &gyre::cuda_kernels(0);
  report_skipped("no GPU (CUDA: " + gyre::cuda_description() + ")");
  return nullptr;
}
