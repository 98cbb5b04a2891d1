// OpenBLAS is the yardstick: `gyre bench` prints every rate as a share of its sgemm's (core/machine_limits.h). Gyre's
// own products are in core/cpu/gemm.h.
#pragma once

#include <string>

namespace gyre {

// The kernels that OpenBLAS chose by CPU or by OPENBLAS_CORETYPE, for example "SkylakeX".
std::string blas_kernels();
// One line when the CPU could do better than the chosen kernels, otherwise empty.
std::string blas_advice();

}  // namespace gyre
