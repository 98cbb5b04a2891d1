#include <cblas.h>

#include "gyre/core/error.h"
#include "gyre/core/hardware/blas.h"

namespace gyre {

bool has_blas() { return true; }

std::string blas_kernels() { return openblas_get_corename(); }

std::string blas_advice() {
  const std::string chosen = blas_kernels();
  const bool wide = chosen == "SkylakeX" || chosen == "Cooperlake" || chosen == "Sapphirerapids";
  if (wide || !__builtin_cpu_supports("avx512f")) return {};
  return concat("OpenBLAS runs its ", chosen,
                " kernels although this CPU has AVX-512: unset OPENBLAS_CORETYPE, or set it to SkylakeX");
}

int blas_threads() { return openblas_get_num_threads(); }

void set_blas_threads(int threads) { openblas_set_num_threads(threads); }

void blas_sgemm(int m, int n, int k, const float* a, const float* b, float* c) {
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1.0f, a, k, b, n, 0.0f, c, n);
}

}  // namespace gyre
