// Measured performance limits of this machine. `gyre bench` prints rates relative to them, and so does training. Each
// function takes up to about a second and restores the number of threads.
#pragma once

#include <cstdint>
#include <string>

#include "gyre/core/kernels/kernels.h"

namespace gyre {

// FLOP/s of matrix products.
//   fp32  sgemm of OpenBLAS with its threads: the best of several runs at 2048 x 2048 x 2048 and 4096 x 4096 x 1024;
//         measure_multiply_adds() in a build without OpenBLAS
//   bf16, int8  measure_multiply_adds(), an upper bound of any matrix product, because OpenBLAS has none of them
double measure_products(Precision precision, int threads);

// Describes the limit that measure_products() returns, such as "OpenBLAS sgemm, Haswell kernels".
std::string products_limit_source(Precision precision);

// FLOP/s of the widest multiply-add instruction with all operands in registers. This measures the clock times the width
// of the arithmetic units. fp32: fused multiply-add; bf16: the tile product of AMX, the dot product of AVX512-BF16, or
// BFMMLA of ARM; int8: the dot product of AVX512-VNNI, or the one of fp32. Throws Error if the CPU has no such
// instruction. Takes the best of the runs of some milliseconds that end within about so many seconds.
double measure_multiply_adds(Precision precision, int threads, double seconds = 0.15);

// Bytes/s of a = b + s * c on arrays larger than the caches, counting three times eight bytes per element (the STREAM
// triad of McCalpin).
double measure_memory_bandwidth(int threads);

// An instruction, and how to measure it.
struct MultiplyAdd {
  static constexpr int kSums = 16;  // number of independent sums: enough to hide the latency of the instruction
  const char* name;
  void (*repeat)(int64_t rounds);  // runs the instruction rounds * kSums times
  double flops;                    // operations per instruction
  int64_t rounds = 1 << 20;        // rounds of a run; they take a few milliseconds
};

// The widest multiply-add instruction of this CPU (cpu_x86_64.cpp, cpu_aarch64.cpp) for fp32, bf16 or int8; that of
// fp32 if the CPU has none for int8. Throws Error if it has none for the others.
MultiplyAdd widest_multiply_add(Precision precision);

}  // namespace gyre
