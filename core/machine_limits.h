// What this machine can do, measured: the limits of which `gyre bench` prints the share. Each call takes about a second
// and leaves the numbers of threads as they were.
#pragma once

namespace gyre {

// FLOP/s of the BLAS's own sgemm, with its own threads: the best of some runs at 2048 x 2048 x 2048 and at
// 4096 x 4096 x 1024.
double measure_sgemm(int threads);

// Bytes/s of a = b + s * c on arrays that no cache holds, three times eight bytes an element (McCalpin's STREAM triad).
double measure_memory_bandwidth(int threads);

}  // namespace gyre
