// The GPU that tests use.
#pragma once

#include <doctest/doctest.h>

#include "core/cuda.h"

// The kernels of the first GPU; null, with a message, where there is none: the test ends then.
inline gyre::Kernels* test_gpu() {
  if (gyre::cuda_devices() > 0) return &gyre::cuda_kernels(0);
  MESSAGE("skipped: no GPU");
  return nullptr;
}
