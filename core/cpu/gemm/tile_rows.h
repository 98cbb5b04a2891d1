// The number of rows that the inner kernels of products compute at once.
#pragma once

#include "gyre/core/cpu/vector_type.h"

namespace gyre::GYRE_CPU_NAMESPACE {

// Rows of C whose sums stay in registers. With two vectors per row, the sums take 28 of the 32 registers of AVX-512, 24
// of the 32 of NEON, which holds the left factors in registers too, or 12 of 16 otherwise.
constexpr int kTileRows = kVectorBytes == 64 ? 14 : kHasNeon ? 12 : 6;

}  // namespace gyre::GYRE_CPU_NAMESPACE
