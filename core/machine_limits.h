// What this machine can do, measured: the limits of which `gyre bench` prints the share. Each call takes about a second
// and leaves the numbers of threads as they were.
#pragma once

#include "core/kernels.h"

namespace gyre {

// FLOP/s of products.
//   fp32  the BLAS's own sgemm with its own threads: the best of some runs at 2048 x 2048 x 2048 and 4096 x 4096 x 1024
//   bf16  AVX512-BF16's dot product with all operands in registers, since no BLAS here multiplies bf16: more than any
//         product of matrices can reach. Throws where the CPU has none.
double measure_products(Precision precision, int threads);

// Bytes/s of a = b + s * c on arrays that no cache holds, three times eight bytes an element (McCalpin's STREAM triad).
double measure_memory_bandwidth(int threads);

}  // namespace gyre
