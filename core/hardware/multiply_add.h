// The widest multiply-add instruction of this machine's CPU, for measurements (core/hardware/machine_limits.h). Each
// architecture implements it in one file: multiply_add_x86_64.cpp or multiply_add_aarch64.cpp.
#pragma once

#include <cstdint>

#include "gyre/core/kernels/kernels.h"

namespace gyre {

// Number of independent sums: enough to hide the latency of the instruction.
constexpr int kSums = 16;

struct MultiplyAdd {
  const char* name;
  void (*repeat)(int64_t rounds);  // runs the instruction rounds * kSums times
  double flops;                    // operations per instruction
  // These rounds take a few milliseconds, so that other processes do not disturb all runs.
  int64_t rounds = 1 << 20;
};

// The instruction for fp32, bf16 or int8; that of fp32 if the CPU has none for int8. Throws Error if it has none for
// the others.
MultiplyAdd widest_multiply_add(Precision precision);

}  // namespace gyre
