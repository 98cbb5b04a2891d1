// GYRE_UNROLL unrolls the loop after it completely. The loop has a constant number of iterations, at most 32.
#pragma once

#ifdef __clang__
#define GYRE_UNROLL _Pragma("unroll")
#else
#define GYRE_UNROLL _Pragma("GCC unroll 32")
#endif
