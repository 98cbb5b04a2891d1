// Interface of OpenBLAS, used only as the reference of `gyre bench`, which prints rates relative to the rate of sgemm
// (core/hardware/machine_limits.h). Gyre's matrix products are in core/cpu/gemm. Builds without OpenBLAS (cmake
// -DGYRE_OPENBLAS=OFF) compile no_blas.cpp.
#pragma once

#include <string>

namespace gyre {

bool has_blas();  // true if this build contains OpenBLAS

// The kernels that OpenBLAS selected for the CPU or by OPENBLAS_CORETYPE, such as "SkylakeX"; "none" without OpenBLAS.
std::string blas_kernels();
// A line of advice if the CPU supports faster kernels than the selected ones, otherwise empty.
std::string blas_advice();

int blas_threads();
// Sets the number of threads of OpenBLAS and OpenMP; without OpenBLAS, only of OpenMP.
void set_blas_threads(int threads);

// c(m,n) = a(m,k) b(k,n), row-major. Throws Error without OpenBLAS.
void blas_sgemm(int m, int n, int k, const float* a, const float* b, float* c);

}  // namespace gyre
