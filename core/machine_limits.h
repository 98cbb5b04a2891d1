// What this machine can do, measured: the limits of which `gyre bench` prints the share. Each call takes about a second
// and leaves the numbers of threads as they were.
#pragma once

#include "core/kernels.h"

namespace gyre {

// FLOP/s of products.
//   fp32  the BLAS's own sgemm with its own threads: the best of some runs at 2048 x 2048 x 2048 and 4096 x 4096 x 1024
//   bf16  measure_multiply_adds(), since no BLAS here multiplies bf16: more than any product of matrices can reach
double measure_products(Precision precision, int threads);

// FLOP/s of the widest multiply-add instruction with all operands in registers: the CPU's clock times the width of its
// arithmetic units. fp32: fused multiply-add; bf16: the dot product of AVX512-BF16. Throws where the CPU has none.
double measure_multiply_adds(Precision precision, int threads);

// Bytes/s of a = b + s * c on arrays that no cache holds, three times eight bytes an element (McCalpin's STREAM triad).
double measure_memory_bandwidth(int threads);

}  // namespace gyre
