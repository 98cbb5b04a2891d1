// Matrix products have one door. fp32 and fp64 go to OpenBLAS.
#pragma once

#include <cstdint>
#include <string>

namespace gyre {

// C(m,n) = op(A) op(B) + beta * C, row-major; op transposes where asked: A is then stored (k,m), B (n,k).
template <class T>
struct Gemm {
  int64_t m, n, k;
  const T* a;
  int64_t lda;
  bool transpose_a;
  const T* b;
  int64_t ldb;
  bool transpose_b;
  T beta;
  T* c;
  int64_t ldc;
};
void gemm(const Gemm<float>& g);
void gemm(const Gemm<double>& g);

// The kernels that OpenBLAS chose by CPU or by OPENBLAS_CORETYPE, for example "SkylakeX". Bits and speed hang on the
// choice.
std::string blas_kernels();
// One line when the CPU could do better than the chosen kernels, otherwise empty.
std::string blas_advice();

}  // namespace gyre
