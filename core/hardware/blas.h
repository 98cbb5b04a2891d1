// Interface of OpenBLAS: the reference of `gyre bench`, which prints rates relative to the rate of sgemm
// (core/hardware/machine_limits.h), and the matrix products of CPUs for which Gyre's own ones (core/cpu/gemm) are not
// tuned. Builds without OpenBLAS (cmake -DGYRE_OPENBLAS=OFF) compile no_blas.cpp.
#pragma once

#include <cstdint>
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

// True if the CPU kernels compute fp32 and fp64 products by blas_gemm(): the tile sizes of core/cpu/gemm are not tuned
// for this architecture, and allow_blas_products(false) was not called. Deterministic runs call it, because OpenBLAS
// selects its kernels, and with them the order of sums, by the model of the CPU. Must not be called while kernels run.
bool multiplies_by_blas();
void allow_blas_products(bool allowed);

// An operand (rows, columns), row-major with `stride` elements between rows, or stored as its transpose.
template <class T>
struct BlasOperand {
  const T* data;
  int64_t stride;
  bool transposed = false;
};

// c(m,n) = [c +] a(m,k) b(k,n), with `ldc` elements between the rows of c. OpenBLAS uses its own threads, unless
// omp_get_max_threads() is 1. Throws Error without OpenBLAS.
void blas_gemm(int64_t m, int64_t n, int64_t k, BlasOperand<float> a, BlasOperand<float> b, float* c, int64_t ldc,
               bool accumulate);
void blas_gemm(int64_t m, int64_t n, int64_t k, BlasOperand<double> a, BlasOperand<double> b, double* c, int64_t ldc,
               bool accumulate);

}  // namespace gyre
