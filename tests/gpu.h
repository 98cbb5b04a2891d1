// Selects the GPU for tests, which may be emulated.
#pragma once

#include "gyre/core/hardware/cuda.h"
#include "tests/report.h"

// Returns the kernels of the first GPU. If there is none, returns null and reports the test case as skipped.
inline gyre::Kernels* test_gpu() {
  if (gyre::cuda_devices() > 0) return &gyre::cuda_kernels(0);
  report_skipped("no GPU (CUDA: " + gyre::cuda_description() + ")");
  return nullptr;
}

// Whether this is the GPU of tests/cuda_emulation, on which tests leave out what they would do twice.
inline bool is_emulated(const gyre::Kernels& gpu) { return gpu.name() == "cuda (emulated GPU)"; }
